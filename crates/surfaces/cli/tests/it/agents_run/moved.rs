//! An account that moves to another cell in the middle of a turn: the turn goes on there, and nothing is done twice.

use serde_json::json;

use super::killed::{two_tools, whole_turn};
use super::two_servers::{messages, slow_tool};
use super::{thread, until};
use crate::serve::Serving;
use crate::support::{DEADLINE, run, threadkeep};

#[test]
fn a_turn_goes_on_in_the_cell_that_its_account_moves_to() {
    let (address, asked, may) = slow_tool();
    let folder = tempfile::tempdir().expect("a folder");
    two_tools(&folder, &address, false);
    let cells = "home = \"a\"\nnew-accounts = \"b\"\n[cells.a]\nstore = \"a.db\"\n[cells.b]\nstore = \"b.db\"\n";
    std::fs::write(folder.path().join("cells.toml"), cells).expect("a file");
    let store = format!("cells:{}", folder.path().join("cells.toml").display());
    let serving = Serving::start_with(folder.path(), &["--store", &store]);
    let thread = thread(&serving);
    serving.ok("POST", &format!("/v1/threads/{thread}/queue"), &json!({ "role": "user", "content": "go" }));
    asked.recv_timeout(DEADLINE).expect("the first call begins");
    let mut moving = threadkeep();
    moving.args(["--store", &store, "store", "copy", "--account", "local", "--to-cell", "a"]);
    assert!(run(moving, b"").ok().starts_with("moved 1 thread"));
    // The first call is answered in the old cell, where nothing can be written any more.
    may.send(()).expect("a tool");
    asked.recv_timeout(DEADLINE).expect("the second call begins in the new cell");
    may.send(()).expect("a tool");
    let ended = until(&serving, &thread, |run| run["completedAt"].is_string());
    assert_eq!((&ended["status"], &ended["attempt"]), (&json!("completed"), &json!(2)), "{ended}");
    let said = messages(&serving, &thread);
    whole_turn(&said, &[1, 1], false, "after the move");
    assert!(json!(said).to_string().contains("broke off"), "{said:?}");
    assert_eq!(asked.try_iter().count(), 0, "no call is made again");
}
