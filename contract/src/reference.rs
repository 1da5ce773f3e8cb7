//! The sum a call must give, bit for bit (contract, rule 7): the yardstick of every execution.

/// Sums f32 contributions in rank order, the accumulator starting as the first operand.
///
/// `inputs` holds one slice per rank, all of the same length; the result has that length. An empty list or
/// slices of different lengths give the elements that all ranks have.
#[must_use]
pub fn sum_f32(inputs: &[&[f32]]) -> Vec<f32> {
    let Some((first, rest)) = inputs.split_first() else {
        return Vec::new();
    };
    let mut sums = first.to_vec();
    for input in rest {
        sums.truncate(input.len());
        for (sum, value) in sums.iter_mut().zip(*input) {
            *sum += *value;
        }
    }
    sums
}

/// Whether a result is the expected one: equal bits, or both NaN (payloads are unspecified).
#[must_use]
pub fn same_f32(saw: f32, expected: f32) -> bool {
    saw.to_bits() == expected.to_bits() || (saw.is_nan() && expected.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_sign_of_zero_and_the_order() {
        assert_eq!(sum_f32(&[&[-0.0], &[-0.0]])[0].to_bits(), (-0.0f32).to_bits());
        let big = 1.0e8f32;
        assert_eq!(sum_f32(&[&[big], &[1.0], &[-big]])[0], (big + 1.0) - big);
        assert!(same_f32(f32::NAN, -f32::NAN) && !same_f32(0.0, -0.0));
        assert!(sum_f32(&[]).is_empty());
    }
}
