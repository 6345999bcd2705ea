//! Refuses system calls that reach other processes or other kinds of network, which Landlock and namespaces leave open.
//!
//! **Invariant:** a call is refused by its number and by arguments that are numbers. What a pointer leads to cannot be
//! judged here: a program could change it after the look.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// The second interface of x86-64 has its own numbers.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

const ATTACH: u64 = 16;
const SEIZE: u64 = 0x4206;
const PRIO_USER: u64 = 2;
const IOPRIO_WHO_USER: u64 = 3;
const NETLINK: u64 = 16;

/// The kernel knows no process with a negative id, and answers `ESRCH`.
const MARK_QUESTION: i32 = i32::MIN + 0x4553;
/// What only the filter of a sandbox answers to it.
const MARK_ANSWER: i32 = libc::ENOTNAM;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Whether the program may make namespaces of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespaces {
    Allowed,
    /// In one of them it could hide that it is part of a run, and then decide about runs.
    Refused,
}

/// Must come last: setting the sandbox up needs some of these calls.
pub(super) fn restrict(own_network: bool, namespaces: Namespaces) -> Result<(), String> {
    let mut filters = vec![filter(of_processes(own_network), libc::EPERM)?, filter(of_mark(), MARK_ANSWER)?];
    if namespaces == Namespaces::Refused {
        filters.push(filter(of_namespaces(), libc::EPERM)?);
        filters.push(filter(of_clone3(), libc::ENOSYS)?);
    }
    if own_network {
        filters.push(filter(of_networks(), libc::EAFNOSUPPORT)?);
    }
    filters.iter().try_for_each(|program| apply_filter(program).map_err(problem))
}

/// Whether a filter of `restrict` is on this process. A filter is inherited and cannot be removed, so neither an empty
/// environment nor another parent hides it.
pub(super) fn is_marked() -> bool {
    let asked = nix::unistd::getsid(Some(nix::unistd::Pid::from_raw(MARK_QUESTION)));
    asked == Err(nix::errno::Errno::from_raw(MARK_ANSWER))
}

fn of_mark() -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    let question = u64::from(MARK_QUESTION.cast_unsigned());
    add(&mut rules, libc::SYS_getsid, vec![SeccompRule::new(vec![is(0, question)?])?]);
    Ok(rules)
}

fn filter(rules: Result<Rules, seccompiler::BackendError>, error: i32) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(problem)?;
    let refused = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules.map_err(problem)?, SeccompAction::Allow, refused, arch);
    filter.and_then(BpfProgram::try_from).map_err(problem)
}

fn problem(error: impl std::fmt::Display) -> String {
    format!("`sandbox` cannot be set up: system calls are not filtered: {error}")
}

/// Calls about another process. Threads and children set their own limits and priorities with 0.
fn of_processes(own_network: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    let mut always = vec![libc::SYS_add_key, libc::SYS_keyctl, libc::SYS_request_key, libc::SYS_pidfd_getfd];
    always.extend([libc::SYS_process_vm_readv, libc::SYS_process_vm_writev]);
    if own_network {
        // It opens sockets without the call that is judged.
        always.push(libc::SYS_io_uring_setup);
    }
    for call in always {
        add(&mut rules, call, Vec::new());
    }
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ] {
        add(&mut rules, call, vec![SeccompRule::new(vec![is_not(0, 0)?])?]);
    }
    for (call, all_of_a_user) in [(libc::SYS_setpriority, PRIO_USER), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)]
    {
        let others = SeccompRule::new(vec![is_not(1, 0)?])?;
        let all = SeccompRule::new(vec![is(0, all_of_a_user)?])?;
        add(&mut rules, call, vec![others, all]);
    }
    let traces = vec![SeccompRule::new(vec![is(0, ATTACH)?])?, SeccompRule::new(vec![is(0, SEIZE)?])?];
    add(&mut rules, libc::SYS_ptrace, traces);
    #[cfg(target_arch = "x86_64")]
    for (number, like) in
        [(521, libc::SYS_ptrace), (539, libc::SYS_process_vm_readv), (540, libc::SYS_process_vm_writev)]
    {
        let same = rules[&like].clone();
        rules.insert(X32 | number, same);
    }
    Ok(rules)
}

/// Calls that make or enter a namespace of users, processes or mounts.
fn of_namespaces() -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    for call in [libc::SYS_unshare, libc::SYS_clone] {
        let kinds = [libc::CLONE_NEWUSER, libc::CLONE_NEWPID, libc::CLONE_NEWNS];
        let kinds = kinds.map(|kind| SeccompRule::new(vec![has(0, u64::from(kind.unsigned_abs()))?]));
        add(&mut rules, call, kinds.into_iter().collect::<Result<_, _>>()?);
    }
    add(&mut rules, libc::SYS_setns, Vec::new());
    Ok(rules)
}

/// Its flags lie behind a pointer. Where the kernel lacks it, libraries use `clone`.
fn of_clone3() -> Result<Rules, seccompiler::BackendError> {
    let mut rules = Rules::new();
    add(&mut rules, libc::SYS_clone3, Vec::new());
    Ok(rules)
}

/// Families that a network namespace does not cover, such as the socket between a virtual machine and its host.
fn of_networks() -> Result<Rules, seccompiler::BackendError> {
    let known = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];
    let known = known.into_iter().map(|family| u64::from(family.unsigned_abs())).chain([NETLINK]);
    let unknown: Result<Vec<SeccompCondition>, _> = known.map(|family| is_not(0, family)).collect();
    let mut rules = Rules::new();
    add(&mut rules, libc::SYS_socket, vec![SeccompRule::new(unknown?)?]);
    Ok(rules)
}

fn add(rules: &mut Rules, call: i64, refused_if: Vec<SeccompRule>) {
    #[cfg(target_arch = "x86_64")]
    rules.insert(X32 | call, refused_if.clone());
    rules.insert(call, refused_if);
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn has(argument: u8, flag: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag), flag)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}
