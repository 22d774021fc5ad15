//! Folders of definitions: whole ones, and ones that are broken in every way.

mod broken;
mod whole;
