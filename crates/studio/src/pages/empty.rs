//! A project in which nothing has run: what to do next, in three commands.

use maud::{Markup, html};

use crate::layout::icon;

pub(super) fn hello() -> Markup {
    html! {
        div.hello {
            h1 { "Nothing has run here yet" }
            p { "Escrow runs playbooks of checks and releases their work only when the contract is met. Start one in a terminal; this page fills by itself." }
            ol.todo {
                li { span.idx { "1" } div.body { h2 { "Set up this project" } p { "Writes a first playbook below " code { ".escrow/playbooks/" } "." } code.cmd { "escrow init" } } }
                li { span.idx { "2" } div.body { h2 { "Run the first playbook" } p { "Its checks, its contract and the file that it promises appear here." } code.cmd { "escrow run .escrow/playbooks/first.yaml" } } }
                li { span.idx { "3" } div.body { h2 { "Break its contract" } p { "Change a " code { "guarantee" } " so that it does not hold, run it again, and see here which value was to blame." } code.cmd { "escrow explain last" } } }
            }
            div.will {
                div { h2 { (icon("bad", "bad")) "Attention" } p { "What failed, waits or was interrupted, by cause. Empty is good." } }
                div { h2 { (icon("file", "dim")) "Runs" } p { "What was promised beside what was delivered, and why each check ran or did not." } }
                div { h2 { (icon("wait", "wait")) "Approvals" } p { "What asks for a decision before it changes the world." } }
            }
            p.sect.small.dim { "State is kept in " code { ".escrow/" } " of the project. Another place: " code { "escrow studio --state DIR" } }
        }
    }
}
