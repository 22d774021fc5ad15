//! Vectors that were asked for lately, by the hash of their text.

use std::collections::HashMap;
use std::fmt;

use crate::Vector;

/// Two generations: what is asked for stays in the young one; when that is full it becomes the old one, whose rest goes.
pub(super) struct Cache {
    young: HashMap<[u8; 32], Vector>,
    old: HashMap<[u8; 32], Vector>,
    generation_max: usize,
}

impl Cache {
    /// Room for `max` vectors.
    pub(super) fn new(max: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), generation_max: max / 2 }
    }

    pub(super) fn get(&mut self, text: &str) -> Option<Vector> {
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        if let Some(vector) = self.young.get(&hash) {
            return Some(vector.clone());
        }
        let vector = self.old.remove(&hash)?;
        self.insert(hash, vector.clone());
        Some(vector)
    }

    pub(super) fn put(&mut self, text: &str, vector: Vector) {
        self.insert(*blake3::hash(text.as_bytes()).as_bytes(), vector);
    }

    fn insert(&mut self, hash: [u8; 32], vector: Vector) {
        if self.generation_max == 0 {
            return;
        }
        if self.young.len() >= self.generation_max {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(hash, vector);
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("held", &(self.young.len() + self.old.len())).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_rest_goes_in_time() {
        let mut cache = Cache::new(8);
        cache.put("kept", Vector::quantise(&[1.0]));
        for other in 0..100 {
            cache.put(&other.to_string(), Vector::quantise(&[1.0]));
            assert!(cache.get("kept").is_some(), "{other}");
            assert!(cache.young.len() + cache.old.len() <= 8);
        }
        assert_eq!(cache.get("3"), None);
        let mut none = Cache::new(0);
        none.put("a", Vector::quantise(&[1.0]));
        assert_eq!(none.get("a"), None);
    }
}
