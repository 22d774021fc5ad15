//! Objects in a folder.

use std::path::{Path, PathBuf};

use threadkeep_model::BlobId;
use threadkeep_objects::Objects;
use threadkeep_postgres::{Clock, PostgresStore};
use threadkeep_sqlite::SqliteStore;
use threadkeep_store::conformance::Subject;
use threadkeep_store::{MemoryStore, StoreError, Stores};

use crate::{content, gc, stores, upload, within};

/// Every content is an object, in parts of 100,000 bytes.
fn objects(folder: &Path) -> Objects {
    let url = format!("file:{}?over=0&part=100000", folder.join("objects").display());
    Objects::open(url.parse().expect("a url")).expect("a folder")
}

/// The files of all objects.
fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let found = std::fs::read_dir(folder).expect("a folder");
        found.map(|file| file.expect("a file").path()).collect()
    };
    let folder = folder.join("objects");
    if !folder.exists() {
        return Vec::new();
    }
    below(&folder).iter().flat_map(|folder| below(folder)).collect()
}

mod memory {
    use super::*;

    fn subject() -> Subject {
        let folder = tempfile::tempdir().expect("a folder");
        Subject::made_of(objects(folder.path()).beside(Stores::of(MemoryStore::new())), folder)
    }

    threadkeep_store::conformance_tests!(subject);
}

mod sqlite {
    use super::*;

    fn subject() -> Subject {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(folder.path().join("threads.db")).expect("a store");
        Subject::made_of(objects(folder.path()).beside(Stores::of(store)), folder)
    }

    threadkeep_store::conformance_tests!(subject);
}

mod postgres {
    use super::*;

    fn subject() -> Subject {
        let (schema, folder) = (threadkeep_throwaway::schema(), tempfile::tempdir().expect("a folder"));
        let url = schema.url().parse().expect("a url");
        let store = PostgresStore::open_with(url, Clock::Caller).expect("a store");
        Subject::made_of(objects(folder.path()).beside(Stores::of(store)), (schema, folder))
    }

    threadkeep_store::conformance_tests!(subject);
}

#[test]
fn an_object_is_there_while_it_is_named_and_equal_content_is_kept_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let stores = stores(folder.path(), objects(folder.path()));
    within(async {
        let content = content(1, 250_001);
        let one = upload(&*stores.blobs, &content).await.expect("an upload");
        let other = upload(&*stores.blobs, &content).await.expect("an upload");
        assert_eq!(files(folder.path()).len(), 1, "the second one is not kept");
        stores.blobs.end_upload(one).await.expect("an end");
        assert_eq!(gc(&stores).await, 0, "the other upload still holds it");
        assert_eq!(stores.blobs.blob(BlobId::of(&content)).await.expect("a read"), Some(content.clone()));
        stores.blobs.end_upload(other).await.expect("an end");
        assert_eq!(gc(&stores).await, 1);
        assert_eq!(stores.blobs.blob(BlobId::of(&content)).await.expect("a read"), None);
        assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    });
}

#[test]
fn a_folder_that_cannot_be_made_is_told_also_inside_a_runtime() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), "").expect("a file");
    within(async {
        let url = format!("file:{}", folder.path().join("file/objects").display());
        let refused = Objects::open(url.parse().expect("a url")).expect_err("a file is in the way");
        assert!(refused.to_string().contains("the folder cannot be made"), "{refused}");
    });
}

#[test]
fn an_upload_that_was_given_up_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let stores = stores(folder.path(), objects(folder.path()));
    within(async {
        let upload = stores.blobs.begin_upload(crate::now()).await.expect("an upload");
        stores.blobs.add_to_upload(upload, 0, content(1, 250_000)).await.expect("a part");
        assert_eq!(files(folder.path()).len(), 1, "parts on their way");
        assert_eq!(gc(&stores).await, 0, "a sweep does not touch them");
        stores.blobs.end_upload(upload).await.expect("an end");
        assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    });
}

#[test]
fn objects_that_a_process_left_behind_are_swept_and_those_of_other_stores_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let (one, two) = (stores(first.path(), objects(folder.path())), stores(second.path(), objects(folder.path())));
    within(async {
        upload(&*one.blobs, &content(1, 1_000)).await.expect("an upload");
        upload(&*two.blobs, &content(2, 1_000)).await.expect("an upload");
        let [a, b] = files(folder.path()).try_into().expect("two files");
        // Written by a process that died before the row.
        let own = if std::fs::read(&a).expect("a file") == content(1, 1_000) { a } else { b };
        std::fs::write(own.with_file_name("999999"), "left behind").expect("a file");
        assert_eq!(gc(&two).await, 0);
        assert_eq!(gc(&one).await, 1);
        assert_eq!(files(folder.path()).len(), 2);
    });
}

#[test]
fn a_missing_object_and_one_that_was_cut_are_told_as_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    let stores = stores(folder.path(), objects(folder.path()));
    within(async {
        let content = content(1, 250_000);
        let id = BlobId::of(&content);
        upload(&*stores.blobs, &content).await.expect("an upload");
        let file = files(folder.path()).pop().expect("a file");
        let damage = async || match stores.blobs.blob_part(id, 100_000..200_000).await {
            Err(StoreError::Corrupt { what }) => what,
            other => panic!("{other:?}"),
        };
        std::fs::write(&file, &content[..150_000]).expect("a file");
        assert!(damage().await.contains("another size"));
        std::fs::remove_file(&file).expect("a file");
        let said = damage().await;
        assert!(said.contains("is missing in file:") && said.contains(&id.to_string()), "{said}");
        let whole = stores.blobs.blob(id).await;
        assert!(matches!(whole, Err(StoreError::Corrupt { .. })), "{whole:?}");
        // Content that differs is noticed when it is read whole, and by the doctor.
        std::fs::write(&file, vec![7; 250_000]).expect("a file");
        let whole = stores.blobs.blob(id).await;
        assert!(matches!(whole, Err(StoreError::Corrupt { .. })), "{whole:?}");
    });
}

#[test]
fn a_store_without_its_object_store_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let content = content(1, 1_000);
    within(async {
        let with = stores(folder.path(), objects(folder.path()));
        upload(&*with.blobs, &content).await.expect("an upload");
        let without = Stores::of(SqliteStore::open(folder.path().join("threads.db")).expect("a store"));
        let error = without.blobs.blob(BlobId::of(&content)).await.expect_err("content elsewhere");
        assert!(error.to_string().contains("no object store is named"), "{error}");
    });
}
