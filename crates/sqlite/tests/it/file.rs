//! What only a file can show.
