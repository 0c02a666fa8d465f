//! Bitcasts: a fixed sample of the brute force of `cargo xtask bitcasts`.

use minormajor_testing::bitcasts::{Counts, Domain, compare};

fn sample(domain: Domain, sample: u64) -> Counts {
    let mut counts = Counts::default();
    for elements in domain.elements() {
        match compare(domain, elements, sample) {
            Ok(more) => counts += more,
            Err(disagreement) => panic!("{disagreement}"),
        }
    }
    println!("{counts}");
    counts
}

#[test]
fn untiled_layouts_agree_with_brute_force() {
    let counts = sample(Domain::Untiled, 7_001);
    assert!(counts.pairs > 10_000 && counts.free > 1000, "{counts}");
}

#[test]
fn tiled_and_padded_layouts_agree_with_brute_force() {
    let counts = sample(Domain::Tiled, 25_013);
    assert!(counts.pairs > 10_000 && counts.free > 200, "{counts}");
}
