//! Checks of rules.

use minormajor::Shape;
use minormajor::rules::{Rule, Rules, RulesFileError};

/// Reads any text as a rule and as a file of rules. A rule's text is the rule again, errors say
/// a place in the text, and what fits an array has its elements.
pub fn check_rules(text: &str) {
    match text.parse::<Rule>() {
        Ok(rule) => check_applied(&Rules::new([rule])),
        Err(error) => {
            let length = text.chars().count();
            assert!((1..=length + 1).contains(&error.column()), "{error}");
        }
    }
    match Rules::from_toml(text) {
        Ok(rules) => check_applied(&rules),
        Err(RulesFileError::Rule { line, .. }) => {
            assert!((1..=text.lines().count() + 1).contains(&line), "{line}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn check_applied(rules: &Rules) {
    for rule in rules.rules() {
        let text = rule.to_string();
        let again: Rule = text.parse().expect("a rule's own text is a rule");
        assert_eq!(again.to_string(), text);
    }
    for (name, shape) in [
        ("layers.0.weight", "f32[3,5]{1,0}"),
        ("conv.weight", "bf16[2,3,5,7]{3,2,1,0}"),
        ("a", "u8[]"),
    ] {
        let shape: Shape = shape.parse().expect("a shape");
        let shape = shape.as_array().expect("an array");
        if let Ok(target) = rules.apply(name, shape) {
            assert_eq!(shape.elements(), target.shape.elements(), "{rules:?}");
        }
    }
}
