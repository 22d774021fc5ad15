//! Numbers as bytes: seven bits a byte, the lowest first.

use crate::Damaged;

/// Appends `number` in as few bytes as it needs.
pub(crate) fn put(into: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Appends `number`, small ones of either sign in few bytes.
pub(crate) fn put_signed(into: &mut Vec<u8>, number: i64) {
    put(into, ((number << 1) ^ (number >> 63)) as u64);
}

/// Appends some bytes and how many they are.
pub(crate) fn put_bytes(into: &mut Vec<u8>, bytes: &[u8]) {
    put(into, bytes.len() as u64);
    into.extend_from_slice(bytes);
}

/// Reads numbers one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, Damaged> {
        // Most numbers are small.
        if let Some(byte) = self.bytes.get(self.at)
            && *byte < 0x80
        {
            self.at += 1;
            return Ok(u64::from(*byte));
        }
        self.long_number()
    }

    fn long_number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(cut)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Damaged("a number is too long".to_owned()))
    }

    /// Two numbers, if both are of one byte.
    #[inline]
    pub(crate) fn pair_of_bytes(&mut self) -> Option<(u32, u32)> {
        let [one, other] = *self.bytes.get(self.at..)?.first_chunk::<2>()?;
        ((one | other) < 0x80).then(|| {
            self.at += 2;
            (u32::from(one), u32::from(other))
        })
    }

    pub(crate) fn small(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.number()?).map_err(|_| Damaged("a number is too large".to_owned()))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Damaged> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Damaged> {
        self.take(N)?.try_into().map_err(|_| cut())
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Damaged> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len()).ok_or_else(cut)?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let count = self.small()? as usize;
        self.take(count)
    }
}

fn cut() -> Damaged {
    Damaged("it ends early".to_owned())
}
