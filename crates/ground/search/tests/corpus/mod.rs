//! Messages for tests: the same for each number.

use threadkeep_model::{MessageId, Position, Role, SegmentId, ThreadId, Timestamp};
use threadkeep_search::{Builder, Document, Form, Strand};

/// Dimensions of a vector.
pub const DIMENSIONS: usize = 64;
/// The day on which all was said, in words, and when it began.
pub const DAY: &str = "10 october 2025";
const DAY_MICROS: i64 = 1_760_054_400_000_000;

pub struct Said {
    pub message: MessageId,
    pub carrier: MessageId,
    pub role: Role,
    pub time: Timestamp,
    pub text: String,
    pub vector: Vec<u8>,
}

fn bits(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Message `n`: seven or so are a thread. Few words are usual, most are rare; one message in nine is an edit.
pub fn said(n: u64) -> Said {
    let segment = SegmentId::from_bits(bits(n / 7) % 1_000_000 + 1);
    let message = MessageId { segment, position: Position(n % 7 * 3 + 1) };
    let edit = MessageId { segment, position: Position(message.position.0 + 100) };
    let carrier = if n % 9 == 4 { edit } else { message };
    let role = if bits(n ^ 0x5555).is_multiple_of(3) { Role::Assistant } else { Role::User };
    let words = (0..bits(n) % 20 + 1).map(|at| {
        let chance = (bits(n * 64 + at) >> 40) as f64 / f64::from(1 << 24);
        format!("w{}x", 300f64.powf(chance) as u64)
    });
    let text: Vec<String> = words.collect();
    let vector = (0..DIMENSIONS as u64).map(|at| (bits(n / 3 * 1_000 + at) as u8) / 3 + (bits(n * 999 + at) as u8) / 4);
    let vector = vector.map(|byte| byte.wrapping_sub(64)).collect();
    let time = Timestamp::from_micros(DAY_MICROS + n as i64 * 1_000_000);
    Said { message, carrier, role, time, text: text.join(" "), vector }
}

pub fn strand(segment: SegmentId) -> Strand {
    let thread = ThreadId::from_bits(u128::from(segment.bits()));
    let (created, start) = (Timestamp::from_micros(7), Position(0));
    Strand { segment, thread, created, parent: None, messages: start, changes: start }
}

/// A volume of messages, as bytes.
pub fn volume(said: &[Said]) -> bytes::Bytes {
    let mut builder = Builder::default();
    for Said { message, carrier, role, time, text, vector } in said {
        builder.strand(strand(message.segment));
        let form = if message == carrier { Form::Appended } else { Form::Edited };
        let document =
            Document { message: *message, carrier: *carrier, form, role: *role, time: *time, name: Some("Ann"), text };
        builder.add(&document, vector.clone().into());
    }
    builder.finish("m")
}

/// A direction to ask for.
pub fn direction(n: u64) -> Vec<f32> {
    (0..DIMENSIONS as u64).map(|at| (bits(n * 77 + at) % 2_001) as f32 / 1_000.0 - 1.0).collect()
}
