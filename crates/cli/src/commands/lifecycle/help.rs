//! Help texts. Release 0.9.0 words its own differently; nothing parses them.

/// `lifecycle --help`.
pub(super) const OVERVIEW: &str = "\
lifecycle: events, envelopes, negotiation and receipts of AI harnesses

Usage: lifecycle <command> [arguments]       (also when started as `lifeloop`)

Vocabulary
  events                              the lifecycle events, as a JSON array
  version                             the release these commands are compatible with

Envelopes, one JSON document on standard input
  envelope validate request|response  print `ok`, or which rule is broken
  envelope echo request|response      print the document as it was understood
  event invoke …                      dispatch to a client and print the receipt; see `event invoke --help`
  stream --extended …                 many events over resident clients; see `stream --extended --help`

Adapters
  manifest list                       the registered adapters
  manifest show <id>                  one manifest
  manifest inspect <id>@<version>     one manifest, if it has that version
    --extended                        with the adapters that are not part of the compatible set
    --schema <lifeloop.v0.N>          as that version of the wire knows them
  asset preview --host <id> --mode <mode> [--profile <id>]
                                      the hook files that a host needs; nothing is written

Receipts
  receipt emit [--ledger <file>]      from {request, response, context} to a receipt
  receipt show                        check a receipt and print it
  receipt list --ledger <file>        every receipt in the ledger
  receipt get --ledger <file> --idempotency-key <k> --client-id <c> --adapter-id <a>
                                      the receipt of an idempotency key
  receipt gaps --ledger <file> --extended
                                      a `receipt.gap_detected` event for every hole in a run
  receipt verify --ledger <file> --extended
                                      check that no receipt was changed or removed
  receipt forget --ledger <file> --before <epoch seconds> --extended
                                      remove old receipts; sequences continue

Inspection
  status [--path <dir>] [--state-dir <dir>]
                                      adapters, and the state files of hooks
  telemetry snapshot --host claude|codex|gemini [--repo-root <dir>]
                                      how full a harness's context is
  conformance run [--root <dir>] [--summary]
                                      check a directory of fixtures, one JSON line each

Exit codes: 0 done, 1 refused, 2 wrong usage, 3 unreadable input or storage
";

/// `event invoke --help`.
pub(super) const EVENT_INVOKE: &str = "\
lifecycle event invoke: validate, negotiate, call the client, print the receipt

Reads one dispatch envelope from standard input. A dispatch that negotiation blocks is not sent to the client;
its receipt says why.

The client
  --client-cmd <program>           started once, given the envelope, answers with one response
  --client-arg <argument>          for the program; may be repeated
  --timeout-ms <ms>                for starting, writing, running and draining together (default 5000)
  --in-process                     no client: take the response from the command line
  --in-process-status <status>     delivered (default) or failed
  --failure-class <class>          with failed
  --retry-class <class>            with failed

The receipt
  --client-id <id>                 default lifeloop-cli
  --receipt-id <id>                default a fresh one
  --parent-receipt-id <id>         needed by the receipt of a called frame
  --at-epoch-s <seconds>           default now
  --ledger <file>                  keep it, number it within its run, and replay it to retries

Beyond compatibility
  --extended                       a failed callback leaves a receipt too; a key is claimed before the client runs;
                                   `metadata.capability_requirements` and declared events are enforced; every
                                   further --client-cmd (with its own --client-arg and --client-id) is called as
                                   well, and the receipts are printed as an array
  --allow-env <NAME or PREFIX*>    with --extended: clients see only these variables; may be repeated
";

/// `stream --help`.
pub(super) const STREAM: &str = "\
lifecycle stream --extended: many events over resident clients

Reads JSON-RPC 2.0 from standard input, a message per line, and answers on standard output:
  {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"event/<event>\",\"params\":{dispatch envelope}}
  {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{receipt}}
Each client is started once, when it is first needed, and asked in the same way. One that ended is started
again for the next event. The stream ends with its input.

Takes the flags of `event invoke --extended`, but for --receipt-id, and:
  --tick-ms <ms>   after each such time without a line, clients get a supervisor.tick notification (default: none)
";
