//! Opens an engine: the ground floor with its rooms.

use std::sync::Arc;

use threadkeep_store::Stores;

use crate::directory::Neighbourhood;
use crate::env::{Config, Vault};
use crate::feed::SharedFeed;
use crate::keys::InUse;
use crate::live::{Live, LiveSettings};
use crate::memory::Indexes;
use crate::process::Lease;
use crate::request::Counts;
use crate::search::Library;
use crate::store_id::StoreId;
use crate::{Engine, Limits, World};

impl Engine {
    /// An engine on `stores`, acting for account `local`.
    pub fn new(stores: Stores, world: Arc<dyn World>, limits: Limits) -> Self {
        Self::on(stores, world, limits, LiveSettings::default(), Config::default())
    }

    /// An engine on the same stores whose live threads have these settings. It shares nothing else with this one: each
    /// has its own flusher and its own observers.
    #[must_use]
    pub fn with_live(&self, settings: LiveSettings) -> Self {
        let shared = &self.shared;
        let config = shared.room::<Vault>().config.clone();
        let engine = Self::on(shared.stores.clone(), Arc::clone(&shared.world), shared.limits, settings, config);
        Self { shared: engine.shared, ..self.clone() }
    }

    /// An engine on the same stores that accepts other sizes. It shares nothing else with this one.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        let shared = &self.shared;
        let (live, config) = (LiveSettings::default(), shared.room::<Vault>().config.clone());
        let engine = Self::on(shared.stores.clone(), Arc::clone(&shared.world), limits, live, config);
        Self { shared: engine.shared, ..self.clone() }
    }

    pub(crate) fn with_config(&self, config: Config) -> Self {
        let (shared, live) = (&self.shared, LiveSettings::default());
        let engine = Self::on(shared.stores.clone(), Arc::clone(&shared.world), shared.limits, live, config);
        Self { shared: engine.shared, ..self.clone() }
    }

    fn on(stores: Stores, world: Arc<dyn World>, limits: Limits, live: LiveSettings, config: Config) -> Self {
        Self::with_rooms(
            stores,
            world,
            limits,
            vec![
                Box::new(Live::new(live)),
                Box::new(Library::default()),
                Box::new(InUse::default()),
                Box::new(SharedFeed::default()),
                Box::new(Vault::new(config)),
                Box::new(Lease::default()),
                Box::new(StoreId::default()),
                Box::new(Indexes::default()),
                Box::new(Counts::default()),
                Box::new(Neighbourhood::default()),
            ],
        )
    }
}
