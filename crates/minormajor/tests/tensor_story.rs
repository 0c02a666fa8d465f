//! The example `tensor_story`: what it tells, and what its last line says.

use minormajor::Devices;

#[path = "../examples/tensor_story.rs"]
mod tensor_story;

fn story(alter: bool) -> String {
    let mut told = Vec::new();
    tensor_story::tell(&Devices::new(), alter, &mut told).expect("the story");
    String::from_utf8(told).expect("text")
}

#[test]
fn the_product_is_close_unless_an_element_is_altered() {
    let told = story(false);
    let lines: Vec<&str> = told.lines().collect();
    for line in [
        "a: f32[1024,2048]{1,0} on cpu",
        "a to cpu:columns: 8388608 bytes over the link, then relayout on the device",
        "a: f32[1024,2048]{0,1} on cpu:columns",
        "a b: f32[1024,512]{0,1} on cpu:columns",
        "a b: f32[1024,512]{1,0} on cpu",
    ] {
        assert!(lines.contains(&line), "{line} is not in\n{told}");
    }
    assert!(lines[0].starts_with("there is no device cuda:0"), "{told}");
    assert_eq!(lines.last(), Some(&"close: true"), "{told}");

    let altered = story(true);
    assert_eq!(altered.lines().last(), Some("close: false"), "{altered}");
}
