//! Threads that help a caller while it has work, and are not waited for where they come too late.
//!
//! A thread that sleeps takes tens of microseconds to wake, in which the caller moves a megabyte alone. A scope of
//! threads would have it wait until everyone whom it asked has come to see that nothing is left.

use std::any::Any;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

#[cfg(loom)]
use loom::{
    sync::atomic::{AtomicUsize, Ordering},
    sync::{Arc, Mutex},
    thread::{self, Thread},
};
#[cfg(not(loom))]
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    sync::{Arc, Mutex},
    thread::{self, Thread},
};

/// How long a caller looks whether the last have left before it sleeps, which costs it about as much as this. Not at all
/// in a model, which has no clock.
const PATIENCE: Duration = Duration::from_micros(if cfg!(loom) { 0 } else { 100 });

/// In a team's state, beside the number of those who work: nobody may begin any more.
const CLOSED: usize = 1;
/// One who works.
const MEMBER: usize = 2;

/// Calls `work(0)`, and meanwhile `work` with each of `1..threads` on whichever threads come.
///
/// `ask` is given a call for one of them, to be made by another thread, at any time or never. Who comes asks for two more
/// before its own work, so that asking for many holds up nobody. A call that is made after `work(0)` has returned does
/// nothing, so **the work of each must be all that is left**: what they share is a queue, or a counter. Returns when
/// everyone who began is done.
///
/// # Panics
///
/// Where `work` or `ask` does, on any thread, once all are done.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// let (next, sum) = (AtomicU32::new(0), AtomicU32::new(0));
/// let ask = |call: Box<dyn FnOnce() + Send>| {
///     std::thread::spawn(call);
/// };
/// minormajor_kernels::team(3, ask, |_| {
///     loop {
///         let number = next.fetch_add(1, Ordering::Relaxed);
///         if number > 100 {
///             return;
///         }
///         sum.fetch_add(number, Ordering::Relaxed);
///     }
/// });
/// assert_eq!(sum.into_inner(), 5050);
/// ```
pub fn team(
    threads: usize,
    ask: impl Fn(Box<dyn FnOnce() + Send>) + Sync,
    work: impl Fn(usize) + Sync,
) {
    if threads <= 1 {
        return work(0);
    }
    let ask = |team: &Arc<Team>, number: usize| {
        if number < threads {
            let team = Arc::clone(team);
            ask(Box::new(move || Team::help(&team, number)));
        }
    };
    let help = |team: &Arc<Team>, number: usize| {
        ask(team, 2 * number);
        ask(team, 2 * number + 1);
        work(number);
    };
    let team = Arc::new(Team::new(&help));
    // However this function ends, nobody is in `help` behind it.
    let open = Open(&team);
    ask(&team, 1);
    work(0);
    drop(open);
    let panic = team
        .panic
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// What the member of a number does.
type Help<'a> = dyn Fn(&Arc<Team>, usize) + Sync + 'a;

struct Team {
    /// Borrowed from the caller until it has closed the team.
    help: *const Help<'static>,
    state: AtomicUsize,
    caller: Thread,
    /// The first of a member.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `help` is what keeps the struct from being both by itself. It is used as a shared reference to what is Sync, and
// never dropped here.
unsafe impl Send for Team {}
// SAFETY: as for Send.
unsafe impl Sync for Team {}

impl Team {
    fn new<'a>(help: &'a Help<'a>) -> Team {
        // SAFETY: the two types differ in a lifetime, which a pointer does not vouch for: `help` does before it follows it.
        let help = unsafe { std::mem::transmute::<*const Help<'a>, *const Help<'static>>(help) };
        Team {
            help,
            state: AtomicUsize::new(0),
            caller: thread::current(),
            panic: Mutex::new(None),
        }
    }

    /// What another thread does.
    fn help(team: &Arc<Team>, number: usize) {
        if !team.enter() {
            return;
        }
        // SAFETY: the team was open, so the caller is inside `team`, which borrows `help`, and `close` keeps it there
        // until this thread has left, behind the last use of the reference.
        let help = unsafe { &*team.help };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| help(team, number))) {
            let mut first = team.panic.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(panic);
        }
        team.leave();
    }

    /// Whether the team is still open; then the caller waits until `leave`.
    fn enter(&self) -> bool {
        let open = |state| (state & CLOSED == 0).then_some(state + MEMBER);
        let entered = self
            .state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, open);
        entered.is_ok()
    }

    fn leave(&self) {
        // Release: what was done is seen by the caller, who acquires the state that this makes or a later one.
        if self.state.fetch_sub(MEMBER, Ordering::Release) == MEMBER + CLOSED {
            self.caller.unpark();
        }
    }

    /// Lets nobody in any more, and waits for those inside.
    fn close(&self) {
        if self.state.fetch_or(CLOSED, Ordering::Acquire) < MEMBER {
            return;
        }
        let begun = Instant::now();
        while self.state.load(Ordering::Acquire) != CLOSED {
            if begun.elapsed() < PATIENCE {
                for _ in 0..16 {
                    spin_loop();
                }
            } else {
                thread::park();
            }
        }
    }
}

/// A team that is closed at the end, also by a panic.
struct Open<'a>(&'a Team);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    type Call = Box<dyn FnOnce() + Send>;

    /// Waits until something is so.
    fn wait(for_what: impl Fn() -> bool) {
        while !for_what() {
            thread::yield_now();
        }
    }

    fn spawn(call: Call) {
        thread::spawn(call);
    }

    #[test]
    fn every_number_works_once() {
        for threads in [0, 1, 2, 3, 7] {
            let calls: Vec<_> = (0..threads.max(1)).map(|_| AtomicUsize::new(0)).collect();
            let come = AtomicUsize::new(0);
            team(threads, spawn, |number| {
                calls[number].fetch_add(1, Ordering::Relaxed);
                come.fetch_add(1, Ordering::Relaxed);
                // Nobody is done before all have come.
                wait(|| come.load(Ordering::Relaxed) == calls.len());
            });
            assert!(calls.iter().all(|calls| calls.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn who_comes_too_late_does_nothing() {
        for in_time in 0..4 {
            let calls = Mutex::new(Vec::<Call>::new());
            let worked = Mutex::new(Vec::new());
            let ask = |call| calls.lock().unwrap().push(call);
            team(6, ask, |number| {
                worked.lock().unwrap().push(number);
                if number == 0 {
                    for _ in 0..in_time {
                        let call = calls.lock().unwrap().remove(0);
                        call();
                    }
                }
            });
            let calls = calls.into_inner().unwrap();
            // The first asks for two more, and so does the second; the third for none.
            assert_eq!(calls.len(), [1, 2, 3, 2][in_time]);
            for call in calls {
                call();
            }
            assert_eq!(
                worked.into_inner().unwrap(),
                (0..=in_time).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn who_has_begun_is_waited_for() {
        for late in [Duration::ZERO, PATIENCE / 2, 10 * PATIENCE] {
            let (begun, done) = (AtomicBool::new(false), AtomicBool::new(false));
            team(2, spawn, |number| {
                if number == 0 {
                    return wait(|| begun.load(Ordering::Relaxed));
                }
                begun.store(true, Ordering::Relaxed);
                thread::sleep(late);
                done.store(true, Ordering::Relaxed);
            });
            assert!(done.into_inner(), "{late:?}");
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_when_all_are_done() {
        for guilty in 0..3 {
            let (come, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let run = || {
                team(3, spawn, |number| {
                    come.fetch_add(1, Ordering::Relaxed);
                    wait(|| come.load(Ordering::Relaxed) == 3);
                    if number == guilty {
                        // Unlike `panic!`, it tells nobody else.
                        resume_unwind(Box::new(number));
                    }
                    thread::sleep(2 * PATIENCE);
                    done.fetch_add(1, Ordering::Relaxed);
                });
            };
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&guilty));
            assert_eq!(done.into_inner(), 2);
        }
    }

    #[test]
    fn what_was_written_is_seen() {
        // Two threads that take calls as they come, some too late.
        let calls = Mutex::new(Vec::<Call>::new());
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let call = calls.lock().unwrap().pop();
                        call.map_or_else(thread::yield_now, |call| call());
                    }
                });
            }
            for round in 0..10_000 {
                let next = AtomicUsize::new(0);
                let mut parts = [0; 16];
                let places = parts.each_mut().map(Mutex::new);
                let ask = |call| calls.lock().unwrap().push(call);
                team(3, ask, |_| {
                    loop {
                        let part = next.fetch_add(1, Ordering::Relaxed);
                        let Some(place) = places.get(part) else {
                            return;
                        };
                        **place.lock().unwrap() = round + part;
                    }
                });
                assert_eq!(parts, std::array::from_fn(|part| round + part));
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}

/// Every order in which threads can see each other's writes: `RUSTFLAGS="--cfg loom" cargo test -p minormajor-kernels --lib
/// team::model`.
#[cfg(all(test, loom))]
mod model {
    use loom::cell::UnsafeCell;

    use super::*;

    /// A place that two threads use without a lock. Loom says where one could write while the other is there.
    struct Place(UnsafeCell<usize>);

    // SAFETY: loom ends the test where it is not so.
    unsafe impl Sync for Place {}

    impl Place {
        fn add(&self, more: usize) {
            // SAFETY: as for Sync.
            self.0.with_mut(|place| unsafe { *place += more });
        }

        fn read(&self) -> usize {
            // SAFETY: as for Sync.
            self.0.with(|place| unsafe { *place })
        }
    }

    /// A team of so many with places of their own, which the caller uses before and behind it.
    fn check(threads: usize) {
        loom::model(move || {
            let places: Vec<_> = (0..threads).map(|_| Place(UnsafeCell::new(0))).collect();
            places.iter().for_each(|place| place.add(1));
            let ask = |call: Box<dyn FnOnce() + Send>| {
                thread::spawn(call);
            };
            team(threads, ask, |number| places[number].add(10));
            let found: Vec<_> = places.iter().map(Place::read).collect();
            assert_eq!(found[0], 11);
            assert!(found.iter().all(|&found| found == 1 || found == 11));
            places.iter().for_each(|place| place.add(1));
        });
    }

    #[test]
    fn a_team_of_two() {
        check(2);
    }

    #[test]
    fn a_team_of_three() {
        check(3);
    }
}
