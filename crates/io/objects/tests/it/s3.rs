//! Objects in an S3-compatible service.

use threadkeep_model::BlobId;
use threadkeep_objects::{Keys, Objects};
use threadkeep_sqlite::SqliteStore;
use threadkeep_store::conformance::Subject;
use threadkeep_store::{StoreError, Stores};

use threadkeep_throwaway::s3::{BUCKET, Fault, S3};

use crate::service::ItsObjects;
use crate::{content, gc, stores, upload, within};

mod sqlite {
    use super::*;

    fn subject() -> Subject {
        let folder = tempfile::tempdir().expect("a folder");
        let service = S3::start(&folder.path().join("s3"));
        let store = SqliteStore::open(folder.path().join("threads.db")).expect("a store");
        Subject::made_of(service.objects("&over=0").beside(Stores::of(store)), (service, folder))
    }

    threadkeep_store::conformance_tests!(subject);
}

#[test]
fn a_large_content_goes_in_parts_is_read_in_ranges_and_swept() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = S3::start(&folder.path().join("s3"));
    let stores = stores(folder.path(), service.objects("&part=5242880"));
    within(async {
        let content = content(1, (12 << 20) + 7);
        let id = BlobId::of(&content);
        let held = upload(&*stores.blobs, &content).await.expect("an upload");
        let end = content.len() as u64;
        for range in [0..3, 5_242_879..5_242_881, 1_000_000..11_000_000, end - 5..end + 9] {
            let part = stores.blobs.blob_part(id, range.clone()).await.expect("a read");
            let cut = |at: u64| at.min(end) as usize;
            assert_eq!(part, Some(content.slice(cut(range.start)..cut(range.end))), "{range:?}");
        }
        assert_eq!(stores.blobs.blob(id).await.expect("a read"), Some(content));
        stores.blobs.end_upload(held).await.expect("an end");
        assert_eq!(gc(&stores).await, 1);
        assert_eq!(stores.blobs.blob(id).await.expect("a read"), None);
    });
}

#[test]
fn small_contents_stay_in_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = S3::start(&folder.path().join("s3"));
    let stores = stores(folder.path(), service.objects(""));
    within(async {
        service.set(Fault::FailsFrom(0));
        let small = content(1, 1 << 20);
        upload(&*stores.blobs, &small).await.expect("the service is not asked");
        assert_eq!(stores.blobs.blob(BlobId::of(&small)).await.expect("a read"), Some(small));
    });
}

fn is_away(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { what } if what.starts_with("the object store s3://keep/a/b"))
}

#[test]
fn a_service_that_fails_in_the_middle_of_an_upload_leaves_nothing_and_the_next_one_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = S3::start(&folder.path().join("s3"));
    let stores = stores(folder.path(), service.objects("&part=5242880&timeout=1"));
    within(async {
        let content = content(1, 12 << 20);
        let id = BlobId::of(&content);
        // The beginning, the first part, the second part, and the end of the upload.
        for from in 0..5 {
            service.set(Fault::FailsFrom(from));
            let error = upload(&*stores.blobs, &content).await.expect_err("a failure");
            assert!(is_away(&error), "{error}");
            service.set(Fault::None);
            assert_eq!(stores.blobs.blob(id).await.expect("a read"), None);
        }
        gc(&stores).await;
        upload(&*stores.blobs, &content).await.expect("an upload");
        service.set(Fault::FailsFrom(1));
        let error = stores.blobs.blob(id).await.expect_err("it fails in the middle of a read");
        assert!(is_away(&error), "{error}");
        service.set(Fault::None);
        assert_eq!(stores.blobs.blob(id).await.expect("a read"), Some(content));
    });
}

#[test]
fn a_service_that_hangs_is_unavailable_after_its_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = S3::start(&folder.path().join("s3"));
    let stores = stores(folder.path(), service.objects("&over=0&timeout=1"));
    within(async {
        let content = content(1, 1_000);
        upload(&*stores.blobs, &content).await.expect("an upload");
        service.set(Fault::Hangs);
        for error in [
            stores.blobs.blob(BlobId::of(&content)).await.map(drop).expect_err("no answer"),
            stores.blobs.sweep_objects().await.map(drop).expect_err("no answer"),
            upload(&*stores.blobs, &self::content(2, 1_000)).await.map(drop).expect_err("no answer"),
        ] {
            assert!(is_away(&error), "{error}");
        }
        service.set(Fault::None);
        assert_eq!(stores.blobs.blob(BlobId::of(&content)).await.expect("a read"), Some(content));
    });
}

#[test]
fn wrong_keys_and_a_missing_bucket_are_told_by_a_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = S3::start(&folder.path().join("s3"));
    within(async {
        service.objects("").check().await.expect("a service that answers");
        let wrong = service.url("").with_keys(Keys { id: "ann".into(), secret: "guess".into() });
        let refused = Objects::open(wrong).expect("a service").check().await.expect_err("wrong keys");
        assert!(
            refused.to_string().contains("AWS_ACCESS_KEY_ID") && !refused.to_string().contains("guess"),
            "{refused}"
        );
        std::fs::remove_dir_all(folder.path().join("s3").join(BUCKET)).expect("a bucket");
        let missing = service.objects("").check().await.expect_err("no bucket").to_string();
        assert!(missing.contains("bucket"), "{missing}");
    });
}
