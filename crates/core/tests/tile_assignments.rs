//! Arrays of devices, as lists and as iotas.

use minormajor_core::Permutation;
use minormajor_core::sharding::{ShardingError, TileAssignment};

fn iota(dimensions: &[i64], reshape: &[i64], permutation: &[i64]) -> TileAssignment {
    TileAssignment::iota(dimensions, reshape, permutation.iter().copied()).unwrap()
}

fn list(dimensions: &[i64], devices: &[i64]) -> TileAssignment {
    TileAssignment::list(dimensions, devices).unwrap()
}

fn devices(assignment: &TileAssignment) -> Vec<i64> {
    assignment.devices().collect()
}

fn permutation(places: &[i64]) -> Permutation {
    Permutation::new(places.iter().copied()).unwrap()
}

/// XLA: IotaTileAssignmentTest.Create
/// XLA: IotaTileAssignmentTest.ToString
/// XLA: TileAssignmentTest.FromIota
#[test]
fn an_iota_has_one_shortest_form() {
    for (dimensions, reshape, order, text) in [
        (&[2, 3][..], &[6][..], &[0][..], "[2,3]<=[6]"),
        (&[2, 6], &[3, 4], &[0, 1], "[2,6]<=[12]"),
        (
            &[1, 3, 1, 4, 1, 5],
            &[1, 3, 1, 4, 1, 5],
            &[4, 3, 2, 5, 1, 0],
            "[1,3,1,4,1,5]<=[3,20]T(1,0)",
        ),
        (&[2, 3, 4], &[2, 3, 4], &[0, 1, 2], "[2,3,4]<=[24]"),
        (
            &[2, 3, 4],
            &[2, 3, 4],
            &[1, 0, 2],
            "[2,3,4]<=[2,3,4]T(1,0,2)",
        ),
        (&[3, 4, 5], &[3, 4, 5], &[2, 0, 1], "[3,4,5]<=[12,5]T(1,0)"),
        (&[3, 4, 5], &[3, 4, 5], &[1, 2, 0], "[3,4,5]<=[3,20]T(1,0)"),
        (&[1, 1], &[1, 1], &[1, 0], "[1,1]<=[1]"),
    ] {
        let iota = iota(dimensions, reshape, order);
        assert_eq!(iota.to_string(), text);
        assert_eq!(iota.dimensions(), dimensions);
        assert_eq!(iota.device_count(), dimensions.iter().product::<i64>());
    }
    let simple = TileAssignment::new([2, 3]).unwrap();
    assert_eq!(simple.iota_form(), Some((&[6][..], &[0][..])));
    assert_eq!(simple.device(&[1, 1]), Ok(4));
}

/// XLA: IotaTileAssignmentTest.ToArray
/// XLA: IotaTileAssignmentTest.ValueAt
/// XLA: TileAssignmentTest.MaterializeArray
#[test]
fn an_iota_is_a_permuted_array() {
    assert_eq!(devices(&iota(&[2, 3], &[6], &[0])), [0, 1, 2, 3, 4, 5]);
    let columns = iota(&[3, 2], &[2, 3], &[1, 0]);
    assert_eq!(devices(&columns), [0, 3, 1, 4, 2, 5]);
    assert_eq!(columns.device(&[0, 1]), Ok(3));
    assert_eq!(columns.device(&[2, 1]), Ok(5));
    assert_eq!(
        columns.to_list().unwrap(),
        list(&[3, 2], &[0, 3, 1, 4, 2, 5])
    );
    // 60 numbers as [3,4,5], the last dimension first.
    let cube = iota(&[3, 4, 5], &[3, 4, 5], &[2, 0, 1]);
    let by_hand: Vec<i64> = (0..5)
        .flat_map(|c| (0..3).flat_map(move |a| (0..4).map(move |b| a * 20 + b * 5 + c)))
        .collect();
    assert_eq!(devices(&cube), by_hand);
}

/// XLA: TileAssignmentTest.FromArray
/// XLA: TileAssignmentTest.UsesDevice
/// XLA: TileAssignmentTest.Each
/// XLA: TileAssignmentTest.EachStatus
#[test]
fn devices_have_tiles_and_tiles_devices() {
    let listed = list(&[2, 2], &[1, 2, 3, 4]);
    assert_eq!(listed.to_string(), "[2,2]1,2,3,4");
    assert_eq!(listed.device(&[1, 1]), Ok(4));
    assert!(listed.uses_device(1) && !listed.uses_device(0));
    let simple = TileAssignment::new([2, 3]).unwrap();
    assert!(simple.uses_device(0) && simple.uses_device(5));
    assert!(!simple.uses_device(6) && !simple.uses_device(-1));
    for assignment in [listed, simple, iota(&[4, 6], &[3, 2, 4], &[1, 2, 0])] {
        for (place, device) in assignment.devices().enumerate() {
            let tile = assignment.index_of(device).unwrap();
            assert_eq!(assignment.device(&tile), Ok(device));
            let linear = tile
                .iter()
                .zip(assignment.dimensions())
                .fold(0, |at, (i, n)| at * n + i);
            assert_eq!(linear, place as i64);
        }
        assert_eq!(assignment.index_of(99), None);
    }
}

/// XLA: TileAssignmentTest.Equality
#[test]
fn equal_devices_are_equal_in_either_form() {
    let one = TileAssignment::new([2, 3]).unwrap();
    assert_eq!(one, iota(&[2, 3], &[2, 3], &[0, 1]));
    assert_ne!(one, TileAssignment::new([3, 2]).unwrap());
    assert_eq!(one, list(&[2, 3], &[0, 1, 2, 3, 4, 5]));
    assert_ne!(list(&[2, 2], &[0, 1, 2, 3]), list(&[2, 2], &[0, 1, 2, 4]));
    // Far more devices than could be compared one by one.
    let many = 1 << 40;
    assert_eq!(
        iota(&[many], &[2, many / 2], &[0, 1]),
        TileAssignment::new([many]).unwrap()
    );
    assert_ne!(
        iota(&[many], &[2, many / 2], &[1, 0]),
        TileAssignment::new([many]).unwrap()
    );
}

/// XLA: IotaTileAssignmentTest.Transpose
/// XLA: TileAssignmentTest.Transpose
/// XLA: TileAssignmentTest.Reshape
#[test]
fn dimensions_are_reshaped_and_permuted() {
    let simple = TileAssignment::new([2, 3]).unwrap();
    for (assignment, order, text) in [
        (simple.clone(), &[0, 1][..], "[2,3]<=[6]"),
        (
            TileAssignment::new([2, 1, 3]).unwrap(),
            &[0, 2, 1],
            "[2,3,1]<=[6]",
        ),
        (simple.clone(), &[1, 0], "[3,2]<=[2,3]T(1,0)"),
        (list(&[2, 2], &[0, 1, 2, 3]), &[1, 0], "[2,2]0,2,1,3"),
        (
            iota(&[4, 5, 24], &[15, 4, 8], &[1, 0, 2]),
            &[2, 0, 1],
            "[24,4,5]<=[5,3,4,8]T(1,3,2,0)",
        ),
        // 2 and 3 do not meet in the permuted 3 and 2: only a list says it.
        (iota(&[2, 3], &[2, 3], &[1, 0]), &[1, 0], "[3,2]0,4,3,2,1,5"),
    ] {
        let moved = assignment.transpose(&permutation(order)).unwrap();
        assert_eq!(moved.to_string(), text);
    }
    assert_eq!(
        simple
            .transpose(&permutation(&[1, 0]))
            .unwrap()
            .device(&[1, 0]),
        Ok(1)
    );
    let reshaped = TileAssignment::new([2, 6])
        .unwrap()
        .reshape([3, 4])
        .unwrap();
    assert_eq!(
        (reshaped.dimensions(), reshaped.device(&[1, 1])),
        (&[3, 4][..], Ok(5))
    );
    let listed = list(&[3, 4], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(listed.reshape([6, 2]).unwrap().device(&[1, 1]), Ok(3));
    assert!(listed.reshape([5, 2]).is_err());
}

#[test]
fn lists_that_are_iotas_are_found() {
    for (dimensions, reshape, order) in [
        (&[24][..], &[2, 3, 4][..], &[2, 0, 1][..]),
        (&[24], &[2, 3, 4], &[2, 1, 0]),
        (&[24], &[24], &[0]),
        (&[16], &[2, 2, 2, 2], &[1, 3, 0, 2]),
        (&[1], &[1], &[0]),
    ] {
        let iota = iota(dimensions, reshape, order);
        let listed = iota.to_list().unwrap();
        assert!(listed.iota_form().is_none());
        assert_eq!(listed.to_iota().unwrap().to_string(), iota.to_string());
    }
    for none in [
        &[1, 0][..],
        &[0, 2, 1],
        &[0, 1, 3, 2],
        &[1, 2],
        &[0, 2],
        &[0, 4, 2, 6],
    ] {
        let listed = list(&[none.len() as i64], none);
        assert!(listed.to_iota().is_none(), "{listed}");
    }
}

#[test]
fn what_is_no_assignment_is_an_error() {
    let error = |result: Result<TileAssignment, ShardingError>| result.unwrap_err().to_string();
    let huge = i64::MAX;
    for (result, part) in [
        (TileAssignment::new([]), "no dimensions"),
        (
            TileAssignment::new([2, 0]),
            "dimension 1 is cut into 0 parts",
        ),
        (
            TileAssignment::new([huge, 2]),
            "number of tiles beyond 2^63",
        ),
        (
            TileAssignment::list([2, 2], [0, 1, 2]),
            "3 devices for 4 tiles",
        ),
        (
            TileAssignment::list([2, 2], [0, 1, 0, 2]),
            "device 0 stands in the list already",
        ),
        (TileAssignment::list([2], [0, -1]), "device -1 is negative"),
        (
            TileAssignment::iota([3, 3], [4], [0]),
            "4 devices for 9 tiles",
        ),
        (
            TileAssignment::iota([4], [2, 2], [1, 1]),
            "permutation[1] is 1",
        ),
        (TileAssignment::iota([4], [2, 2], [0]), "a permutation of 1"),
        (
            TileAssignment::iota([4], [2, 2], [0, 2]),
            "permutation[1] is 2",
        ),
        // Two sides of 10^9 that do not meet would need the whole list.
        (
            iota(&[1 << 30, 3], &[3, 1 << 30], &[1, 0]).transpose(&permutation(&[1, 0])),
            "",
        ),
    ] {
        match part {
            "" => assert!(result.is_ok()),
            part => assert!(error(result).contains(part), "{part}"),
        }
    }
    let odd = iota(&[1 << 30, 3], &[1 << 30, 3], &[1, 0]);
    assert!(error(odd.transpose(&permutation(&[1, 0]))).contains("only a list can give"));
    assert!(odd.to_list().is_err());
    assert_eq!(odd.device(&[0, 1]), Ok(3));
    assert!(odd.device(&[0, 3]).is_err());
}
