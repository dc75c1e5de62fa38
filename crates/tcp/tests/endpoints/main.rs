//! Two endpoints over a network that loses, delays and reorders.

mod control;
mod delivery;
mod linux;
mod network;
mod ns3;
mod repair;
mod timing;
