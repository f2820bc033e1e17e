//! Build scripts as an outsider writes them, run by Cargo: what is compiled when, what images are
//! like, what is said.

mod folders;
mod images;
mod jobs;
mod messages;
mod rebuilds;
mod stale;

offload_tests::tests! { ; folders::tests(), images::tests(), jobs::tests(), messages::tests(), rebuilds::tests(), stale::tests() }
