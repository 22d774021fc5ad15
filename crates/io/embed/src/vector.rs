//! Vectors in a byte a dimension, compared by whole numbers.

/// A direction in the space of a model, of any number of dimensions, in a byte each.
///
/// Its length is one for any bytes: only their proportions count, so a vector is stored as its bytes alone and any
/// bytes can be read back. The one exception is the vector of zeros, which is near to nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// Signed, as two's complement.
    bytes: Box<[u8]>,
    /// One over the length of what `bytes` say; zero if they are all zero.
    scale: f32,
}

impl Vector {
    /// The vector in the direction of `values`. Where they are not finite, or all zero, it is the vector of zeros.
    pub fn quantise(values: &[f32]) -> Self {
        let most = values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let step = f32::from(i8::MAX) / most;
        if !step.is_finite() || !values.iter().all(|value| value.is_finite()) {
            return Self::zeros(values.len());
        }
        // Rounded away from zero by hand: `round` is a call of its own for each value on older processors.
        let byte = |value: &f32| (value * step + 0.5_f32.copysign(*value)) as i8 as u8;
        Self::from_bytes(values.iter().map(byte).collect())
    }

    /// The vector that says nothing.
    pub fn zeros(dimensions: usize) -> Self {
        Self { bytes: vec![0; dimensions].into(), scale: 0.0 }
    }

    /// The vector whose [`as_bytes`](Self::as_bytes) these are.
    pub fn from_bytes(bytes: Box<[u8]>) -> Self {
        let scale = scale(&bytes);
        Self { bytes, scale }
    }

    /// The bytes to store: a signed byte per dimension.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, without a copy.
    pub fn into_bytes(self) -> Box<[u8]> {
        self.bytes
    }

    /// How many dimensions it has.
    pub fn dimensions(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it says nothing.
    pub fn is_zero(&self) -> bool {
        self.scale == 0.0
    }

    /// The factor that gives a vector of length one from its signed bytes; zero for the vector of zeros. The
    /// [`cosine`](Self::cosine) of two is their [`dot`] times both scales, which is how many are compared with one.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// How near it is to another vector of the same model: from -1 to 1, and 0 if one of them says nothing.
    ///
    /// # Panics
    /// If they differ in length: then they come from different models, and the number would mean nothing.
    pub fn cosine(&self, other: &Self) -> f32 {
        assert_eq!(self.dimensions(), other.dimensions(), "vectors of different models were compared");
        dot(&self.bytes, &other.bytes) as f32 * self.scale * other.scale
    }

    /// Adds `weight` times this vector to `sum`, from which [`quantise`](Self::quantise) makes a vector again: the
    /// mean of several.
    ///
    /// # Panics
    /// If `sum` has another length.
    pub fn add_to(&self, sum: &mut [f32], weight: f32) {
        assert_eq!(self.dimensions(), sum.len(), "vectors of different models were added");
        let weight = weight * self.scale;
        for (sum, byte) in sum.iter_mut().zip(&self.bytes) {
            *sum += weight * f32::from(byte.cast_signed());
        }
    }
}

/// The product of two vectors' bytes, in whole numbers. If one is longer, its rest does not count.
///
/// Exact up to 131,071 dimensions, which is far above what models have.
pub fn dot(left: &[u8], right: &[u8]) -> i32 {
    // Products of two signed bytes fit into 16 bits, where processors multiply and add in one step.
    let product = |(left, right): (&u8, &u8)| i16::from(left.cast_signed()) * i16::from(right.cast_signed());
    left.iter().zip(right).map(product).fold(0_i32, |sum, product| sum.wrapping_add(product.into()))
}

/// One over the length of what `bytes` say, or zero.
fn scale(bytes: &[u8]) -> f32 {
    let square = dot(bytes, bytes);
    if square == 0 { 0.0 } else { 1.0 / (square as f32).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_keeps_its_direction_and_has_length_one() {
        let values: Vec<f32> = (0..256).map(|at| (at as f32 * 0.7).sin() * 3.0).collect();
        let vector = Vector::quantise(&values);
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        let mut back = vec![0.0; 256];
        vector.add_to(&mut back, 1.0);
        for (value, back) in values.iter().zip(&back) {
            assert!((value / length - back).abs() < 0.001, "{value} {back}");
        }
        assert!((vector.cosine(&vector) - 1.0).abs() < 1e-6);
        assert_eq!(Vector::from_bytes(vector.as_bytes().into()), vector);
        assert_eq!(Vector::quantise(&back), vector);
    }

    #[test]
    fn opposite_and_right_angles_are_told_apart() {
        let east = Vector::quantise(&[1.0, 0.0]);
        assert_eq!(east.cosine(&Vector::quantise(&[-5.0, 0.0])), -1.0);
        assert_eq!(east.cosine(&Vector::quantise(&[0.0, 0.01])), 0.0);
        assert_eq!(east.as_bytes(), [127, 0]);
    }

    #[test]
    fn what_says_nothing_is_near_to_nothing() {
        let east = Vector::quantise(&[1.0, 0.0]);
        for values in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0], [f32::MIN_POSITIVE / 4.0, 0.0]] {
            let vector = Vector::quantise(&values);
            assert!(vector.is_zero(), "{values:?}");
            assert_eq!((vector.cosine(&east), vector.dimensions()), (0.0, 2));
        }
        assert!(Vector::quantise(&[]).is_zero());
    }

    #[test]
    fn any_bytes_are_a_vector() {
        let most = Vector::from_bytes(vec![0x80; 100_000].into());
        assert!((most.cosine(&most) - 1.0).abs() < 1e-6);
    }
}
