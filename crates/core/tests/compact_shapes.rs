//! The compact shape: every row of what was decided about it.

use minormajor_core::{CompactShape, CompactShapeError, ElementType, Shape, ShapeError};

fn shape(sizes: &[i32]) -> CompactShape {
    CompactShape::new(sizes).unwrap()
}

#[test]
fn it_is_24_bytes_and_plain() {
    fn plain<T: Copy + Send + Sync + Eq + std::hash::Hash + 'static>() -> usize {
        size_of::<T>()
    }
    assert_eq!(plain::<CompactShape>(), 24);
}

#[test]
fn absent_dimensions_are_zero_at_the_left() {
    let parts = |shape: CompactShape| [shape.n(), shape.c(), shape.h(), shape.w()];
    let names = |shape: CompactShape| {
        [
            shape.number(),
            shape.channel(),
            shape.height(),
            shape.width(),
        ]
    };
    for (sizes, stored) in [
        (&[][..], [0, 0, 0, 0]),
        (&[100], [0, 0, 0, 100]),
        (&[50, 100], [0, 0, 50, 100]),
        (&[10, 3, 32], [0, 10, 3, 32]),
        (&[1, 3, 224, 224], [1, 3, 224, 224]),
    ] {
        let shape = shape(sizes);
        assert_eq!((parts(shape), names(shape)), (stored, stored));
        assert_eq!((shape.ndim(), shape.dims()), (sizes.len(), sizes));
        assert_eq!(shape.is_scalar(), sizes.is_empty());
        let product: i64 = sizes.iter().map(|&size| i64::from(size)).product();
        assert_eq!(shape.numel(), product);
    }
}

/// The original made a scalar of `Shape(0)`.
#[test]
fn a_size_of_zero_is_an_error_in_every_rank() {
    for rank in 1..=4 {
        for dimension in 0..rank {
            for size in [0, -1, i32::MIN] {
                let mut sizes = vec![2; rank];
                sizes[dimension] = size;
                let expected = CompactShapeError::Size {
                    dimension,
                    size: i64::from(size),
                };
                assert_eq!(CompactShape::new(&sizes), Err(expected));
            }
        }
    }
    assert_eq!(
        CompactShape::new(&[1; 5]),
        Err(CompactShapeError::Rank { found: 5 })
    );
}

/// The original accepted four times 65536 with a count of 0.
#[test]
fn counts_do_not_wrap() {
    let found = CompactShape::nchw(65536, 65536, 65536, 65536);
    assert_eq!(found, Err(CompactShapeError::Overflow { dimension: 3 }));
    let largest = shape(&[i32::MAX, i32::MAX]);
    assert_eq!(largest.numel(), i64::from(i32::MAX).pow(2));
    assert!(CompactShape::volume(i32::MAX, i32::MAX, 2).is_ok());
    assert!(CompactShape::volume(i32::MAX, i32::MAX, 3).is_err());
}

#[test]
fn dimensions_count_from_both_ends() {
    let shape = shape(&[10, 3, 32]);
    for (dimension, size) in [(0, 10), (1, 3), (2, 32), (-1, 32), (-3, 10)] {
        assert_eq!(shape.dim(dimension), Ok(size));
    }
    for dimension in [3, -4, i64::MAX, i64::MIN] {
        let expected = ShapeError::NoSuchDimension { dimension, rank: 3 };
        assert_eq!(shape.dim(dimension), Err(expected));
    }
    assert!(CompactShape::scalar().dim(0).is_err());
}

#[test]
fn equality_is_of_ranks_and_sizes() {
    assert_ne!(shape(&[3]), shape(&[1, 3]));
    assert_eq!(shape(&[3, 4]), CompactShape::matrix(3, 4).unwrap());
    assert_ne!(CompactShape::scalar(), shape(&[1]));
}

#[test]
fn matrices_multiply_where_inner_sizes_agree() {
    let compatible = |a: &[i32], b: &[i32]| shape(a).is_matmul_compatible(shape(b));
    assert!(compatible(&[2, 3], &[3, 4]));
    assert!(!compatible(&[2, 3], &[2, 3]));
    // Both of rank 2, whatever the sizes.
    for (a, b) in [
        (&[3][..], &[3, 4][..]),
        (&[2, 3], &[3]),
        (&[2, 2, 3], &[3, 4]),
        (&[2, 3], &[2, 3, 4]),
        (&[], &[]),
        (&[3], &[3]),
    ] {
        assert!(!compatible(a, b), "{a:?} {b:?}");
    }
}

/// Against the rule in words: aligned at the right, one direction, 1 stretches.
#[test]
fn stretching_is_the_rule_in_words() {
    let mut all = vec![vec![]];
    for rank in 1..=4 {
        for code in 0..3usize.pow(rank) {
            all.push(
                (0..rank)
                    .map(|d| (code / 3usize.pow(d) % 3) as i32 + 1)
                    .collect(),
            );
        }
    }
    let stretches = |a: &[i32], b: &[i32]| {
        a.len() <= b.len()
            && a.iter()
                .rev()
                .zip(b.iter().rev())
                .all(|(&a, &b)| a == b || a == 1)
    };
    for a in &all {
        for b in &all {
            let found = shape(a).is_broadcastable_to(shape(b));
            assert_eq!(found, stretches(a, b), "{a:?} {b:?}");
        }
    }
}

#[test]
fn texts_have_no_spaces() {
    assert_eq!(shape(&[4, 3, 2]).to_string(), "(4,3,2)");
    assert_eq!(CompactShape::scalar().to_string(), "()");
    assert_eq!(format!("{:?}", shape(&[4])), "CompactShape(4)");
}

#[test]
fn general_shapes_go_there_and_back() {
    for sizes in [&[][..], &[7], &[2, 3], &[5, 2, 3], &[1, 1, 1, 1]] {
        let compact = shape(sizes);
        let general = Shape::from(compact.to_array(ElementType::Bf16).unwrap());
        assert_eq!(CompactShape::try_from(&general), Ok(compact));
    }
    let error = |text: &str| {
        let shape: Shape = text.parse().unwrap();
        CompactShape::try_from(&shape).unwrap_err().to_string()
    };
    assert_eq!(
        error("f32[2,0]"),
        "dimension 1 has size 0; expected 1 or more"
    );
    assert_eq!(
        error("u8[3000000000]"),
        "dimension 0 has size 3000000000; a compact shape takes at most 2147483647"
    );
    assert_eq!(
        error("u8[1,1,1,1,1]"),
        "there are 5 dimensions; a compact shape takes at most 4"
    );
    assert!(error("f32[?]").contains("dimension 0"));
    assert!(error("(f32[2])").contains("array"));
}
