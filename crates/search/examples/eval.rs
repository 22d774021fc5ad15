use std::{collections::HashMap, sync::Arc};
use threadkeep_model::*;
use threadkeep_search::*;
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let (mut b, mut names) = (Builder::default(), HashMap::new());
    for (i, line) in std::fs::read_to_string(format!("{dir}/threads.jsonl")).unwrap().lines().enumerate() {
        let t: serde_json::Value = serde_json::from_str(line).unwrap();
        let segment = SegmentId::from_bits(i as u64 + 1);
        names.insert(segment, t["thread_id"].as_str().unwrap().to_owned());
        b.strand(Strand {
            segment,
            thread: ThreadId::from_bits(i as u128),
            created: Timestamp::from_micros(0),
            parent: None,
            messages: Position(0),
            changes: Position(0),
        });
        for (j, m) in t["messages"].as_array().unwrap().iter().enumerate() {
            let message = MessageId { segment, position: Position(j as u64 + 1) };
            let time: Timestamp = m["ts"].as_str().or(t["created_at"].as_str()).unwrap().parse().unwrap();
            let role = if m["role"] == "user" { Role::User } else { Role::Assistant };
            b.add(
                &Document {
                    message,
                    carrier: message,
                    form: Form::Appended,
                    role,
                    time,
                    speaker: m["speaker"].as_str().unwrap_or(""),
                    text: m["text"].as_str().unwrap(),
                },
                Box::default(),
            );
        }
    }
    let bytes = b.finish("");
    eprintln!("{} bytes", bytes.len());
    let volume = Arc::new(Volume::read(bytes).unwrap());
    eprintln!("{} text", volume.text_bytes());
    let shelf = Shelf::new(vec![volume]);
    for line in std::fs::read_to_string(format!("{dir}/queries.jsonl")).unwrap().lines() {
        let q: serde_json::Value = serde_json::from_str(line).unwrap();
        let question = Question::new(q["text"].as_str().unwrap());
        let m = Matches::find(&shelf, &question, &Wants { candidates: 1000, ..Wants::default() }).unwrap();
        let mut by: HashMap<SegmentId, Vec<f32>> = HashMap::new();
        for c in m.candidates() {
            by.entry(shelf.message(c.place).segment).or_default().push(c.score);
        }
        let mut r: Vec<_> = by.into_iter().map(|(s, v)| (thread_score(v), s)).collect();
        r.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let results: Vec<_> = r
            .iter()
            .take(10)
            .map(|(s, g)| serde_json::json!({"thread_id": names[g], "message_id": "", "score": s}))
            .collect();
        println!("{}", serde_json::json!({"query_id": q["query_id"], "results": results}));
    }
}
