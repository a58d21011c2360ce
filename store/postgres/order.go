package postgres

// Locks are taken in this order inside a transaction, so that two never wait for each
// other. Those with a name are advisory locks of the schema.
//
//  1. sweeps: by a sweep, of which one is under way at a time
//  2. folds: by a transaction that folds or removes events; folding itself only tries
//  3. limits: by a claim of what has a limit over all processes
//  4. live jobs, by id; claims, heartbeats and looks for lost leases skip what is locked
//  5. dead letters: by what writes dead letters, groups or redrives; or else schedule:NAME,
//     schedules, policies, processes, notes, access, endpoints, streams: who has one of these needs no lock on dead letters. Processes is
//     locked before any row of redrive_processes, by a call that writes the rows of other
//     processes than its own
//     Then positions of streams, by their primary key, and sinks: only calls for streams take them.
//     A mark, by its key, is locked by a call that locks nothing else but, without waiting, marks that it removes
//  6. batches, by id: by what brings members back, adds or publishes some, or writes an end, and, for
//     others to share, by new jobs that name a batch
//  7. keys, by owner, kind and key; sweeps skip what is locked
//  8. lanes: by a transaction that makes a lane or a queue, or sets one, with the number of the
//     settings
//  9. counters, counts of batches and figures, by id: by folding; of counts also by what writes an end
//  10. numbers, rows of redrive_meta; with the number of the index of owners, its runs, which
//     nothing else writes
//  11. events: new rows, which wait for nobody
//
// A caller's own transaction in which a job has died has the lock on dead letters for as long as it is
// open. So nobody waits long for them who has what others need: a claim only tries, and
// leaves jobs past their deadline; so does a rescue, which then ends what needs no lock on dead letters.
// For the rest it waits, as sweeps and steps of redrives do, for backgroundPatience, people
// wait for peoplePatience, outcomes for lockWait.
//
// A caller's own transaction may have several calls, and so any order: the server
// finds its deadlocks.

// Events are numbered by the transactions that write them, and a transaction gets
// its number with the first row that it locks. If it then comes to a row that a
// later one has changed meanwhile, its own event would stand before what it follows.
// So a transaction that takes a job in whatever state it is looks at who has written the row,
// and begins anew, with a new number, when that is a later one. Runs need no such
// look, because who holds the token has it from an earlier transaction, unless a person has asked them to stop:
// followsRequest of package sqlstore. The outcome of a batch follows the ends of all its members: a transaction that
// writes one looks for later ends: Hooks.FollowsEnds of package sqlstore. What adds members, or brings some back, follows
// the outcomes before it: a transaction that takes a batch looks at who has written its row. A caller's own
// transaction cannot begin anew, so its events may stand before what they follow.
//
// Statements with that look are marked :overtaken in statements.sql; readyJobs and joinBatches have it, too. Of the number of the
// transaction that has written a row the row has the lower half (xmin), also long after others have had the same
// half. So only those count that can be later: what the statement saw as begun, and what has come while it ran.
