//! Two endpoints over a network that loses, delays and reorders.

mod delivery;
mod network;
mod ns3;
mod timing;
