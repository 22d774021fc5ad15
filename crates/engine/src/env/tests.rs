//! Variables on two engines that share one store, as two servers do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use threadkeep_calls::{
    Append, ChangeOwner, Create, Delete, DeleteAccountEnv, DeleteEnv, SetAccountEnv, SetEnv, Subagent,
};
use threadkeep_model::{Account, Actor, ActorKind, Caller, EnvName, EnvType, MessageBody, ThreadId, Timestamp};
use threadkeep_store::{MemoryStore, Registered, RegistryKind, Stores};
use threadkeep_vault::{Key, KeyFile};

use super::keys::{KeyKeeper, KeyProblem};
use super::place;
use crate::WayOut;
use crate::{Engine, Error, Limits, Page, World};

const SECRET: &str = "sk-canary-1234567890";

/// Time stands still, and chance counts.
#[derive(Default)]
struct Counting(AtomicU64);

impl World for Counting {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_000_000)
    }

    fn chance(&self) -> u128 {
        let next = self.0.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::hash(&next.to_le_bytes());
        u128::from_le_bytes(hash.as_bytes()[..16].try_into().expect("16 bytes"))
    }
}

/// A key file in memory that two engines share.
#[derive(Default)]
struct Shared(std::sync::Mutex<Option<KeyFile>>);

impl Shared {
    fn set(&self, keys: Option<KeyFile>) {
        *self.0.lock().expect("no panic") = keys;
    }
}

impl KeyKeeper for Shared {
    fn read(&self) -> Result<Option<KeyFile>, KeyProblem> {
        Ok(self.0.lock().expect("no panic").clone())
    }

    fn make(&self, keys: KeyFile) -> Result<KeyFile, KeyProblem> {
        Ok(self.0.lock().expect("no panic").get_or_insert(keys).clone())
    }

    fn replace(&self, keys: KeyFile) -> Result<(), KeyProblem> {
        self.set(Some(keys));
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn Send>, KeyProblem> {
        Ok(Box::new(()))
    }
}

/// Two servers on one store.
struct Two {
    one: Engine,
    two: Engine,
    keys: Arc<Shared>,
    stores: Stores,
    world: Arc<Counting>,
}

impl Two {
    fn new() -> Self {
        let (stores, world, keys) =
            (Stores::of(MemoryStore::new()), Arc::<Counting>::default(), Arc::<Shared>::default());
        let engine = || Self::engine(&stores, &world, &keys);
        Self {
            one: engine(),
            two: engine(),
            keys: Arc::clone(&keys),
            stores: stores.clone(),
            world: Arc::clone(&world),
        }
    }

    fn engine(stores: &Stores, world: &Arc<Counting>, keys: &Arc<Shared>) -> Engine {
        let (world, keys): (Arc<dyn World>, Arc<dyn KeyKeeper>) = (world.clone(), keys.clone());
        Engine::new(stores.clone(), world, Limits::default()).with_key_keeper(keys)
    }

    /// A server that starts now.
    fn fresh(&self) -> Engine {
        Self::engine(&self.stores, &self.world, &self.keys)
    }

    async fn sealed(&self) -> Vec<Registered> {
        self.one.all_documents(RegistryKind::Sealed).await.expect("documents")
    }
}

fn name(text: &str) -> EnvName {
    text.parse().expect("a name")
}

fn set(name: &str, value: &str) -> SetEnv {
    SetEnv::new(name, value).expect("a name")
}

fn agent_of(engine: &Engine) -> Engine {
    let actor = Actor { kind: ActorKind::Agent, name: "helper".into() };
    engine.acting_as(Caller { actor, ..engine.caller().clone() })
}

async fn thread(engine: &Engine) -> ThreadId {
    engine.create(Create::titled("T")).await.expect("a thread").id
}

async fn shown(engine: &Engine, thread: ThreadId) -> String {
    let page = engine.messages(thread, Page::first()).await.expect("a page");
    page.items.iter().map(|message| message.text().expect("text")).collect::<Vec<_>>().join(" ")
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(test);
}

#[test]
fn a_secret_that_one_server_set_is_redacted_by_the_other_at_once() {
    run(async {
        let Two { one, two, .. } = &Two::new();
        let main = thread(one).await;
        let helper = Subagent { name: "helper".into(), ..Subagent::default() };
        let child = one.subagent(main, helper).await.expect("a subagent").thread.id;
        let say = async |text: &str| {
            agent_of(two).append(child, Append::from(MessageBody::assistant(text))).await.expect("an append");
        };
        say("first").await;
        one.call(main, set("A", "of-the-thread-1")).await.expect("set");
        say("of-the-thread-1").await;
        one.call(threadkeep_calls::At::none(), SetAccountEnv::new("B", "of-the-account-1").expect("a name"))
            .await
            .expect("set");
        say("of-the-account-1").await;
        one.call(main, set("A", "of-the-thread-2")).await.expect("set");
        say("of-the-thread-1 of-the-thread-2").await;
        one.call(main, set("A", "of-the-thread-3").of_type(EnvType::Text)).await.expect("set");
        say("of-the-thread-3").await;
        one.call(main, DeleteEnv::new("A").expect("a name")).await.expect("deleted");
        assert_eq!(
            shown(two, child).await,
            "first [secret:A] [secret:B] of-the-thread-1 [secret:A] of-the-thread-3",
            "a value that was replaced is no secret any more, nor is a text"
        );
        one.call(threadkeep_calls::At::none(), DeleteAccountEnv::new("B").expect("a name")).await.expect("deleted");
        say("of-the-account-1").await;
        assert!(shown(two, child).await.ends_with(" of-the-account-1"));
    });
}

#[test]
fn a_value_that_was_moved_to_another_thread_or_name_does_not_open() {
    run(async {
        let house = Two::new();
        let (one, fresh) = (&house.one, house.fresh());
        let (ours, theirs) = (thread(one).await, thread(one).await);
        one.call(ours, set("A", SECRET)).await.expect("set");
        one.call(theirs, set("A", "another value")).await.expect("set");
        one.call(theirs, set("B", "a third value")).await.expect("set");
        let record = one.thread(ours).await.expect("a thread").record;
        let own = place(ours, &name("A"), record.variables[&name("A")].generation);
        let envelope = house.sealed().await.into_iter().find(|document| document.id == own).expect("ours").json;
        let record = one.thread(theirs).await.expect("a thread").record;
        for (at, variable) in &record.variables {
            let id = place(theirs, at, variable.generation);
            let document = house.sealed().await.into_iter().find(|document| document.id == id).expect("theirs");
            house.stores.registry.register(Registered { json: envelope.clone(), ..document }).await.expect("swapped");
            let refused = fresh.env(theirs, at).await.expect_err("it belongs to another place");
            assert_eq!(refused.code(), "store_damaged");
            assert!(!refused.to_string().contains(SECRET));
        }
        let refused = agent_of(&fresh).append(theirs, MessageBody::assistant("x")).await;
        assert!(refused.is_err(), "what cannot be redacted is not written");
        assert_eq!(fresh.env(ours, &name("A")).await.expect("its own"), SECRET);
    });
}

#[test]
fn values_go_with_their_threads_and_secrets_stay_with_their_owner() {
    run(async {
        let house = Two::new();
        let one = &house.one;
        let main = thread(one).await;
        let helper = Subagent { name: "helper".into(), ..Subagent::default() };
        let child = one.subagent(main, helper).await.expect("a subagent").thread.id;
        for (at, variable) in [(main, "A"), (child, "B")] {
            one.call(at, set(variable, SECRET)).await.expect("set");
            one.call(at, set("REGION", "north").of_type(EnvType::Text)).await.expect("set");
        }
        assert_eq!(house.sealed().await.len(), 4);
        one.call(main, set("A", "another value")).await.expect("set");
        assert_eq!(house.sealed().await.len(), 4, "the value before it is gone");
        let eve = Account::new("eve").expect("an account");
        one.change_owner(main, ChangeOwner { account: eve.clone() }).await.expect("given");
        let left: Vec<String> = house.sealed().await.into_iter().map(|document| document.id).collect();
        assert!(left.len() == 2 && left.iter().all(|id| id.contains("/REGION/")), "{left:?}");
        let hers = one.acting_as(Caller { account: eve, ..one.caller().clone() });
        assert!(matches!(hers.env(child, &name("A")).await, Err(Error::EnvNotFound { .. })));
        assert_eq!(hers.env(child, &name("REGION")).await.expect("a text"), "north");
        assert!(hers.delete(main, Delete {}).await.expect("deleted"));
        assert!(house.sealed().await.is_empty());
    });
}

#[test]
fn gc_deletes_sealed_values_that_nothing_names() {
    run(async {
        let house = Two::new();
        let one = &house.one;
        let kept = thread(one).await;
        one.call(kept, set("A", SECRET)).await.expect("set");
        let account = SetAccountEnv::new("B", SECRET).expect("a name");
        one.call(threadkeep_calls::At::none(), account).await.expect("set");
        let long_ago = Timestamp::from_micros(-(48 * 3_600 * 1_000_000));
        let orphan = |id: String, created| Registered {
            kind: RegistryKind::Sealed,
            id,
            account: Account::local(),
            json: "\"x\"".to_owned(),
            created,
        };
        let old = place(kept, &name("A"), threadkeep_model::Uuid::from_chance(7));
        let new = place(kept, &name("C"), threadkeep_model::Uuid::from_chance(7));
        let gone = place(ThreadId::from_bits(7), &name("A"), threadkeep_model::Uuid::from_chance(7));
        for (id, created) in [(old, long_ago), (new.clone(), one.now()), (gone, one.now())] {
            house.stores.registry.register(orphan(id, created)).await.expect("registered");
        }
        one.gc(false, Arc::new(|_, _, _| {})).await.expect("gc");
        let left: Vec<String> = house.sealed().await.into_iter().map(|document| document.id).collect();
        assert!(left.len() == 3 && left.contains(&new), "its commit may be under way: {left:?}");
        assert_eq!(house.fresh().env(kept, &name("A")).await.expect("kept"), SECRET);
        assert_eq!(house.fresh().env(kept, &name("B")).await.expect("kept"), SECRET);
    });
}

#[test]
fn a_key_is_rotated_while_servers_run_and_the_old_one_opens_nothing_more() {
    run(async {
        let house = Two::new();
        let at = thread(&house.one).await;
        house.one.call(at, set("A", SECRET)).await.expect("set");
        assert_eq!(house.two.env(at, &name("A")).await.expect("a value"), SECRET);
        let old = house.keys.read().expect("keys").expect("a file");
        let id = house.one.rotate_secrets().await.expect("rotated");
        let new = house.keys.read().expect("keys").expect("a file");
        assert!(new.keys().count() == 1 && new.first().id() == id && old.first().id() != id);
        for engine in [&house.one, &house.two, &house.fresh()] {
            assert_eq!(engine.env(at, &name("A")).await.expect("a value"), SECRET);
            engine.call(at, set("B", "another value")).await.expect("set");
        }
        house.keys.set(Some(old));
        let refused = house.fresh().check_secrets().await.expect_err("the old key");
        assert_eq!(refused.code(), "secrets_unavailable");
        assert!(house.two.env(at, &name("A")).await.is_ok(), "one that runs goes on");
    });
}

#[test]
fn a_wrong_or_lost_key_opens_nothing_changes_nothing_and_can_be_given_up() {
    run(async {
        let house = Two::new();
        let at = thread(&house.one).await;
        house.one.call(at, set("A", SECRET)).await.expect("set");
        let right = house.keys.read().expect("keys");
        let before = house.sealed().await;
        for wrong in [None, Some(KeyFile::new(Key::new([9; 32])))] {
            house.keys.set(wrong.clone());
            let fresh = house.fresh();
            for refused in [
                fresh.check_secrets().await.err(),
                fresh.open_secrets().await.err(),
                fresh.env(at, &name("A")).await.err(),
                fresh.call(at, set("B", SECRET)).await.err(),
                fresh.rotate_secrets().await.err(),
                agent_of(&fresh).append(at, MessageBody::assistant(SECRET)).await.err(),
            ] {
                assert_eq!(refused.expect("refused").code(), "secrets_unavailable");
            }
            let file = house.keys.read().expect("keys");
            assert_eq!(file.map(|file| file.first().id().to_owned()), wrong.map(|file| file.first().id().to_owned()));
            assert_eq!(house.sealed().await, before);
            assert_eq!(shown(&fresh, at).await, "");
        }
        house.keys.set(right);
        assert!(!house.fresh().forget_secrets().await.expect("nothing to forget"));
        assert_eq!(house.fresh().env(at, &name("A")).await.expect("a value"), SECRET);
        house.keys.set(None);
        let fresh = house.fresh();
        assert!(fresh.forget_secrets().await.expect("forgotten"));
        assert!(house.sealed().await.is_empty());
        assert!(matches!(fresh.env(at, &name("A")).await, Err(Error::EnvNotFound { .. })));
        fresh.call(at, set("A", "a new value")).await.expect("set");
        assert_eq!(house.fresh().env(at, &name("A")).await.expect("a value"), "a new value");
    });
}

#[test]
fn two_servers_that_start_at_once_seal_with_one_key() {
    run(async {
        let house = Two::new();
        let (one, two) = tokio::join!(house.one.open_secrets(), house.two.open_secrets());
        one.and(two).expect("opened");
        assert_eq!(house.one.all_documents(RegistryKind::DataKey).await.expect("documents").len(), 2);
        let sets = (0..20).map(|number| {
            let engine = if number % 2 == 0 { house.one.clone() } else { house.two.clone() };
            let call = SetAccountEnv::new(&format!("V{number}"), format!("value number {number}")).expect("a name");
            async move { engine.call(threadkeep_calls::At::none(), call).await.expect("set") }
        });
        let local = tokio::task::LocalSet::new();
        let tasks: Vec<_> = sets.map(|set| local.spawn_local(set)).collect();
        local
            .run_until(async {
                for task in tasks {
                    task.await.expect("a task");
                }
            })
            .await;
        let values = house.fresh().account_values(&Account::local()).await.expect("values");
        assert_eq!(values.len(), 20, "no change was lost");
    });
}

#[test]
fn no_account_learns_of_another_ones_secret() {
    run(async {
        let Two { one, .. } = &Two::new();
        let theirs = thread(one).await;
        one.call(theirs, set("A", SECRET)).await.expect("set");
        one.call(threadkeep_calls::At::none(), SetAccountEnv::new("B", "of-the-account").expect("a name"))
            .await
            .expect("set");
        let eve = one.acting_as(Caller { account: Account::new("eve").expect("an account"), ..one.caller().clone() });
        let hers = thread(&eve).await;
        let guess = format!("{SECRET} of-the-account");
        agent_of(&eve).append(hers, MessageBody::assistant(&guess)).await.expect("an append");
        assert_eq!(shown(&eve, hers).await, guess, "a guess is not told from any other text");
        for way in [WayOut::Call, WayOut::File, WayOut::Event, WayOut::Code, WayOut::Problem, WayOut::CommandLine] {
            let redactor = eve.redactor(way, Some(theirs)).await.expect("a redactor");
            assert_eq!(redactor.text(&guess), guess, "{way:?}");
        }
        assert!(matches!(eve.env(theirs, &name("A")).await, Err(Error::ThreadNotFound { .. })));
        assert!(matches!(eve.env(hers, &name("B")).await, Err(Error::EnvNotFound { .. })));
    });
}
