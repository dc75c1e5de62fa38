//! Two machines and the link between them.

mod network;
mod rwbp;
