//! Variables on a store whose commits fail, before or after they were kept.

use std::sync::Arc;

use threadkeep::calls::{Create, SetEnv};
use threadkeep::{Engine, EnvName, Limits, SystemWorld};
use threadkeep_sim::{Faults, Faulty};
use threadkeep_store::{MemoryStore, Stores};

#[test]
fn a_variable_that_the_log_names_has_its_value_although_the_commit_failed() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let stores = Stores::of(MemoryStore::new());
        let faulty = Faulty::wrap(stores.clone(), Faults::one_in(2, 1));
        let (whole, failing) = (
            Engine::new(stores, Arc::new(SystemWorld), Limits::default()),
            Engine::new(faulty, Arc::new(SystemWorld), Limits::default()),
        );
        let name: EnvName = "A".parse().expect("a name");
        let mut lost_answers = 0;
        for number in 0..40 {
            let thread = whole.create(Create::default()).await.expect("a thread").id;
            let value = format!("value {number}");
            let set = SetEnv { name: name.clone(), value: value.clone(), kind: None };
            let is_told = failing.call(thread, set).await.is_ok();
            let is_named = whole.thread(thread).await.expect("a thread").record.variables.contains_key(&name);
            assert!(is_named || !is_told, "what is told is kept");
            if is_named {
                assert_eq!(failing.env(thread, &name).await.expect("a value"), value);
            }
            lost_answers += u64::from(is_named && !is_told);
        }
        assert!(lost_answers > 0, "some commits were kept without an answer");
    });
}
