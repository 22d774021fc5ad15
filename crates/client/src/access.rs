//! Keys, projects and tickets.

use threadkeep_calls as api;

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::messages::id;
use crate::query::Query;

impl Client {
    /// A link that signs a browser in with this key, once.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn sign_in(&self) -> Result<api::SignIn, Error> {
        self.ask(Ask::post("/v1/sign-in".to_owned(), &api::Nothing {})?.repeatable()).await
    }

    /// Makes a key; its secret is told once.
    ///
    /// # Errors
    /// As the server refuses it. If the connection breaks it is not sent again: there could be two.
    pub async fn create_key(&self, new: &api::NewKey) -> Result<api::CreatedKey, Error> {
        self.ask(Ask::post("/v1/keys".to_owned(), new)?).await
    }

    /// A page of keys, those that were revoked included.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn keys(&self, cursor: Option<&str>, limit: Option<usize>) -> Result<api::Page<api::Key>, Error> {
        let query = Query::default().maybe("cursor", cursor).maybe("limit", limit);
        self.ask(Ask::get("/v1/keys".to_owned()).query(query)).await
    }

    /// Revokes a key for good. One that does not hold is no error.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn revoke_key(&self, key: &str) -> Result<api::Revoked, Error> {
        self.ask(Ask::delete(format!("/v1/keys/{}", id(key)))).await
    }

    /// Makes a ticket for one opening of one stream.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn ticket(&self, new: &api::NewTicket) -> Result<api::Ticket, Error> {
        self.ask(Ask::post("/v1/tickets".to_owned(), new)?.repeatable()).await
    }

    /// Makes a project.
    ///
    /// # Errors
    /// `project_exists` if there is one with that id.
    pub async fn create_project(&self, project: &api::PutProject) -> Result<api::Project, Error> {
        self.ask(Ask::post("/v1/projects".to_owned(), project)?).await
    }

    /// A page of projects.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn projects(&self, cursor: Option<&str>, limit: Option<usize>) -> Result<api::Page<api::Project>, Error> {
        let query = Query::default().maybe("cursor", cursor).maybe("limit", limit);
        self.ask(Ask::get("/v1/projects".to_owned()).query(query)).await
    }

    /// A project.
    ///
    /// # Errors
    /// `project_not_found`.
    pub async fn project(&self, project: &str) -> Result<api::Project, Error> {
        self.ask(Ask::get(format!("/v1/projects/{}", id(project)))).await
    }

    /// Makes a project with this id, or replaces it.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn put_project(&self, project: &str, put: &api::PutProject) -> Result<api::Project, Error> {
        self.ask(Ask::put(format!("/v1/projects/{}", id(project)), put)?).await
    }

    /// Replaces fields of a project; null clears one.
    ///
    /// # Errors
    /// `project_not_found`, and as the server refuses it otherwise.
    pub async fn update_project(&self, project: &str, changes: &api::ProjectChanges) -> Result<api::Project, Error> {
        self.ask(Ask::patch(format!("/v1/projects/{}", id(project)), changes)?.repeatable()).await
    }

    /// Deletes a project; its threads stay. One that is not there is no error.
    ///
    /// # Errors
    /// As the server refuses it.
    pub async fn delete_project(&self, project: &str) -> Result<api::Deleted, Error> {
        self.ask(Ask::delete(format!("/v1/projects/{}", id(project)))).await
    }
}
