------------------------------ MODULE Leasehold ------------------------------
(* The abstract lock of this folder once more, for those who read TLA+: clients that acquire, extend, release and
   hand over a lock; one document; commands and replies that are late or lost; crashes, the TTL monitor, failovers
   with rollback to a primary whose clock is off; a fenced resource. The rules are those of lock_rules.hpp: each that
   a variant changes is a constant, and Leasehold.cfg has the sound lock. tla_test compares the two, by the number of
   states of the sound lock and by the length of the shortest counterexample of each variant.

   Left out, of what the explorer has: the queue in the document, a stale primary that goes on beside its successor,
   a client of the .NET package, more than one message in flight for each client, and what comes about eventually.

   Time is a number here, owners, beats and orders are numbers that are never used again. What only looks different
   is made one by the VIEW, at the end. *)
EXTENDS Integers, FiniteSets, Sequences, TLC

CONSTANTS
  N,        \* clients, who are 1 .. N
  Depth,    \* steps that are looked at, or more than there are
  Margin,   \* by how much expiresAt is later than the lease's end, in ticks
  Skew      \* by how much the clock of every second primary is ahead

CONSTANTS Failovers, Crashes, TtlPasses, Losses, LateStarts, HandOvers  \* whether there are any

CONSTANTS  \* the rules, each TRUE (or the value that is named first) in the sound lock
  ExpiryHeeded,                 \* only what has expired, or is dead, is taken from its holder
  SeenOwnerCompared,            \* by the command that takes over a dead holder's lock
  SeenBeatCompared,
  SightFromItsReply,            \* an observation begins with the reply, not with the command
  ObserverKeepsDriftMargin,
  WinnerChecked,                \* who is refused has not won
  OwnerPer,                     \* "call", "attempt", "process"
  FreshOwnerAfterDelete,
  ExpiryNeverLowered,           \* by a late write of an owner that is there
  MarginKept,                   \* "in document", "by waiter", "not in extensions", "nowhere"
  BeatRaised,                   \* "by every command", "not by retries", "not by extensions", "restarted", "counted"
  TokenFrom,                    \* "operation time", "cluster time", "counter", "nothing"
  MajorityAwaited,
  ExtensionChecksOwner,
  ExtensionOnlyUpdates,         \* never inserts
  HasDeadline,                  \* a holder stops by its own clock
  DeadlineFromSending,          \* not from the reply
  HolderKeepsDriftMargin,
  UnknownExtensionKeepsDeadline,
  LateExtensionIgnored,         \* by a handle that is lost
  HeldEndsBeforeRelease,        \* not with its reply
  ReleaseChecksOwner,
  HeldEndsBeforeHandOver,
  HandOverChecksOwners,
  HandOverOnlyUpdates

VARIABLES
  now,       \* real time, in ticks
  serial,    \* the last number that was used: for an owner, a beat, or a write's order
  server,    \* the replica set: its document, what a majority has of it, its primary's clock
  client,    \* of each client: what it knows
  wire,      \* of each client: its message that is under way, a command or the reply to it
  resource,  \* the latest grant of which the fenced resource has heard
  broken     \* the guarantees that steps broke

vars == <<now, serial, server, client, wire, resource, broken>>

------------------------------------------------------------------------------
Clients == 1 .. N
Lease == 2   \* ticks
Oldest == 2  \* an age that makes no more difference

Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

\* An owner is one call of a client: <<client, number>>. A lockId is an owner and a beat.
NoOwner == <<0, 0>>
NoLockId == [owner |-> NoOwner, beat |-> 0]
NoDocument == [id |-> NoLockId, until |-> 0, counter |-> 0]
There(document) == document.id.owner # NoOwner

NoMessage == [kind |-> "none", owner |-> NoOwner, beat |-> 0, seen |-> NoLockId, giver |-> NoOwner,
              sent |-> 0, token |-> 0, order |-> 0, committed |-> FALSE]
Command(kind, owner, beat) ==
  [NoMessage EXCEPT !.kind = kind, !.owner = owner, !.beat = beat, !.sent = now]
\* To a command. It is about the same owner, and as old as that.
Reply(command, kind) ==
  [command EXCEPT !.kind = kind, !.beat = 0, !.seen = NoLockId, !.giver = NoOwner, !.token = 0]
IsReply(message) == message.kind \in {"won", "refused", "extended", "no match", "gone"}
\* What becomes of a message that nobody awaits any more: a command stays under way.
Abandoned(message) == IF IsReply(message) THEN NoMessage ELSE message

\* A process that has just begun.
NewClient ==
  [phase |-> "idle",        \* or "waiting", "asking", "holding", "releasing"
   owner |-> NoOwner,
   awaits |-> FALSE,        \* the reply to its message
   deadline |-> 0,          \* until when it counts on its lease, and held() is true
   due |-> 0,               \* and until when it may: of the lease that it last heard of
   token |-> 0, order |-> 0,
   sight |-> NoLockId,      \* which lockId it was shown last, and since when that is the same
   since |-> 0,
   doubtful |-> NoOwner,    \* of an attempt of this call that was never answered
   cleanUp |-> NoOwner,     \* whose document it has yet to delete
   giver |-> NoOwner,       \* who hands the lock over to it
   beat |-> 0]              \* of its attempts, where retries keep it

EndOfHolding(c) ==
  [client[c] EXCEPT !.phase = "idle", !.owner = NoOwner, !.deadline = 0, !.due = 0, !.token = 0,
                    !.order = 0, !.doubtful = NoOwner, !.beat = 0]

------------------------------------------------------------------------------
(* What is asked of clients. *)

Holding(c) ==  \* held() is true
  /\ client[c].phase \in {"holding", "releasing"}
  /\ HasDeadline => client[c].deadline > now

CountsOnALease(c) ==  \* it holds, or will when the reply that is under way is delivered
  \/ client[c].phase = "holding" /\ client[c].deadline > now
  \/ client[c].awaits /\ wire[c].kind = "won" /\ now - wire[c].sent < Lease

MayLeaveADocument(c) ==  \* a call that ends now
  client[c].phase = "asking" \/ client[c].doubtful # NoOwner \/ client[c].giver # NoOwner

CanSend(c) == wire[c] = NoMessage /\ ~client[c].awaits

\* Of a command that nobody awaits it is left open when it was sent.
Age(c) == IF client[c].awaits THEN Min(now - wire[c].sent, Oldest) ELSE Oldest

------------------------------------------------------------------------------
(* The server, and how it comes to be what it is. *)

MaxOf(numbers) == CHOOSE x \in numbers : \A y \in numbers : y <= x

ClockAt(time, s) == time + (IF s.ahead THEN Skew ELSE 0)
Clock == ClockAt(now, server)

\* For how long a document has expired, and since when there is this primary, matters only to commands that began
\* before: what is longer ago is forgotten, by the explorer too. Each step ends with it.
Remembered(s) ==
  LET acquires == {c \in Clients : LateStarts /\ wire'[c].kind = "acquire"}
      longest == MaxOf({IF MarginKept = "by waiter" THEN Margin ELSE 0} \cup {Age(c)' : c \in acquires})
      known(d) == IF There(d) THEN [d EXCEPT !.until = Max(@, ClockAt(now', s) - longest)] ELSE d
      isOlder(c) == /\ wire'[c].kind \in {"acquire", "extend", "hand over"}
                    /\ Age(c)' > now' - s.elected
  IN [s EXCEPT !.document = known(@), !.backed = known(@),
               !.elected = IF LateStarts /\ \E c \in Clients : isOlder(c) THEN @ ELSE now' - Oldest]

\* Until a majority has a write, a failover takes it back.
Written(document) ==
  [server EXCEPT !.document = document, !.dirty = Failovers, !.backed = IF Failovers THEN @ ELSE document]

MayHaveWaited(c) ==  \* inside this primary, since it began and read the clock
  IF LateStarts THEN Min(Age(c), now - server.elected) ELSE 0

\* Nobody hears a reply that he does not await; one that is heard waits for a majority, of a refusal too.
Replied(c, reply, written) ==
  wire' = [wire EXCEPT ![c] =
             IF client[c].awaits THEN [reply EXCEPT !.committed = ~written.dirty] ELSE NoMessage]

Breaks(guarantee, condition) == IF condition THEN {guarantee} ELSE {}

------------------------------------------------------------------------------
(* Clients, of their own accord. *)

Attempt(c) ==
  LET me == client[c]
      new == serial + 1
      owner == IF OwnerPer = "process" THEN <<c, 1>>
               ELSE IF OwnerPer = "attempt" \/ me.owner = NoOwner THEN <<c, new>> ELSE me.owner
      keeps == BeatRaised = "not by retries"
      beat == IF keeps /\ me.beat # 0 THEN me.beat ELSE new
      mustSee == IF ObserverKeepsDriftMargin THEN Lease ELSE Lease - 1
      dead == IF me.sight # NoLockId /\ now - me.since >= mustSee THEN me.sight ELSE NoLockId
  IN /\ me.phase = "waiting" \/ (me.phase = "idle" /\ me.giver = NoOwner)
     /\ CanSend(c)
     /\ serial' = new
     /\ client' = [client EXCEPT ![c].phase = "asking", ![c].owner = owner, ![c].awaits = TRUE,
                                 ![c].beat = IF keeps THEN beat ELSE 0]
     /\ wire' = [wire EXCEPT ![c] =
                   IF me.giver # NoOwner
                   THEN [Command("hand over", owner, beat) EXCEPT !.giver = me.giver]
                   ELSE [Command("acquire", owner, beat) EXCEPT !.seen = dead]]
     /\ UNCHANGED <<now, resource, broken>>
     /\ server' = Remembered(server)

\* Nobody answers: it goes on as if the outcome were unknown.
TimeOut(c) ==
  LET me == client[c]
      isExtending == me.phase = "holding" /\ me.awaits
  IN /\ me.phase = "asking" \/ isExtending
     /\ client' = [client EXCEPT ![c] =
                     IF isExtending
                     THEN [me EXCEPT !.awaits = FALSE,
                                     !.deadline = IF UnknownExtensionKeepsDeadline THEN @ ELSE now + Lease]
                     ELSE [me EXCEPT !.phase = "waiting", !.doubtful = me.owner, !.awaits = FALSE]]
     /\ wire' = [wire EXCEPT ![c] = Abandoned(@)]
     /\ UNCHANGED <<now, serial, resource, broken>>
     /\ server' = Remembered(server)

\* It keeps one owner to clean up: who may leave another one first deletes that.
GiveUp(c) ==
  LET me == client[c]
  IN /\ me.phase \in {"asking", "waiting"}
     /\ MayLeaveADocument(c) => me.cleanUp = NoOwner
     /\ client' = [client EXCEPT ![c] =
                     [me EXCEPT !.cleanUp = IF MayLeaveADocument(c) THEN me.owner ELSE @,
                                !.phase = "idle", !.awaits = FALSE, !.owner = NoOwner,
                                !.doubtful = NoOwner, !.beat = 0]]
     /\ wire' = [wire EXCEPT ![c] = Abandoned(@)]
     /\ UNCHANGED <<now, serial, resource, broken>>
     /\ server' = Remembered(server)

\* After a call that gave up, and after a win that came too late.
CleanUp(c) ==
  LET me == client[c]
      gaveUp == me.phase = "idle"
  IN /\ me.cleanUp # NoOwner
     /\ CanSend(c)
     /\ client' = [client EXCEPT ![c].cleanUp = NoOwner, ![c].giver = IF gaveUp THEN NoOwner ELSE @]
     /\ wire' = [wire EXCEPT ![c] = [Command("delete", me.cleanUp, 0) EXCEPT
                                       !.giver = IF gaveUp THEN me.giver ELSE NoOwner]]
     /\ UNCHANGED <<now, serial, resource, broken>>
     /\ server' = Remembered(server)

Extend(c) ==
  /\ client[c].phase = "holding"
  /\ Holding(c)
  /\ CanSend(c)
  /\ serial' = serial + 1
  /\ client' = [client EXCEPT ![c].awaits = TRUE]
  /\ wire' = [wire EXCEPT ![c] = Command("extend", client[c].owner, serial + 1)]
  /\ UNCHANGED <<now, resource, broken>>
  /\ server' = Remembered(server)

Release(c) ==
  /\ client[c].phase = "holding"
  /\ CanSend(c)
  /\ client' = [client EXCEPT ![c] =
                  IF HeldEndsBeforeRelease THEN EndOfHolding(c)
                  ELSE [@ EXCEPT !.phase = "releasing", !.awaits = TRUE]]
  /\ wire' = [wire EXCEPT ![c] = Command("delete", client[c].owner, 0)]
  /\ UNCHANGED <<now, serial, resource, broken>>
  /\ server' = Remembered(server)

\* A release that gives the lock to another call of the same process, in one command.
HandOver(c, to) ==
  LET receiver == client[to]
      new == serial + 1
      owner == IF receiver.owner = NoOwner THEN <<to, new>> ELSE receiver.owner
  IN /\ HandOvers /\ c # to
     /\ client[c].phase = "holding"
     /\ Holding(c)
     /\ receiver.phase \in {"idle", "waiting"} /\ receiver.giver = NoOwner /\ CanSend(to)
     /\ serial' = new
     /\ client' = [client EXCEPT
                     ![to] = [@ EXCEPT !.phase = "asking", !.owner = owner, !.awaits = TRUE,
                                       !.giver = client[c].owner],
                     ![c] = IF HeldEndsBeforeHandOver THEN [EndOfHolding(c) EXCEPT !.awaits = FALSE]
                            ELSE @]
     /\ wire' = [wire EXCEPT
                   ![to] = [Command("hand over", owner, new) EXCEPT !.giver = client[c].owner],
                   ![c] = IF HeldEndsBeforeHandOver THEN Abandoned(@) ELSE @]
     /\ UNCHANGED <<now, resource, broken>>
     /\ server' = Remembered(server)

\* The process starts anew; a command that it sent is still under way.
Crash(c) ==
  /\ Crashes
  /\ client[c].phase \in {"asking", "holding"}
  /\ client' = [client EXCEPT ![c] = NewClient]
  /\ wire' = [wire EXCEPT ![c] = Abandoned(@)]
  /\ UNCHANGED <<now, serial, resource, broken>>
  /\ server' = Remembered(server)

------------------------------------------------------------------------------
(* The server executes a command. *)

\* Its lockId is still the one that was seen unchanged for a lease.
IsDead(m) ==
  LET holder == server.document.id
  IN /\ m.seen # NoLockId
     /\ SeenOwnerCompared => holder.owner = m.seen.owner
     /\ SeenBeatCompared => holder.beat = m.seen.beat
\* By the clock as an acquire read it that began so many ticks ago.
IsExpired(waited) ==
  \/ ~ExpiryHeeded
  \/ server.document.until + (IF MarginKept = "by waiter" THEN Margin ELSE 0) <= Clock - waited
MayTake(m, waited) ==
  \/ ~There(server.document)
  \/ server.document.id.owner = m.owner
  \/ IsDead(m)
  \/ IsExpired(waited)

NewExpiry(owner, waited, isExtension) ==
  LET document == server.document
      margin == IF MarginKept = "in document" \/ (MarginKept = "not in extensions" /\ ~isExtension)
                THEN Margin ELSE 0
      until == Clock - waited + Lease + margin
      lowers == ~ExpiryNeverLowered \/ (isExtension /\ MarginKept = "not in extensions")
      isThere == IF isExtension THEN There(document) ELSE document.id.owner = owner
  IN IF isThere /\ ~lowers THEN Max(until, document.until) ELSE until

\* The document is the command's owner's from now on.
Granted(c, waited) ==
  LET m == wire[c]
      old == server.document
      isOurs == old.id.owner = m.owner
      beat == CASE BeatRaised = "counted" -> IF isOurs THEN old.id.beat + 1 ELSE 1
                [] BeatRaised = "restarted" -> 1
                [] OTHER -> m.beat
      counter == IF There(old) /\ isOurs THEN old.counter ELSE old.counter + 1
      order == serial + 1
      token == CASE TokenFrom = "operation time" -> order
                 [] TokenFrom = "cluster time" -> IF m.token # 0 THEN m.token ELSE order
                 [] TokenFrom = "counter" -> counter
                 [] OTHER -> 0
      written == Written([id |-> [owner |-> m.owner, beat |-> beat],
                          until |-> NewExpiry(m.owner, waited, FALSE), counter |-> counter])
  IN /\ serial' = order
     /\ Replied(c, [Reply(m, "won") EXCEPT !.order = order, !.token = token], written)
     /\ UNCHANGED <<now, client, resource>>
     /\ server' = Remembered(written)

GivesALeaseAway(c) ==  \* that somebody else still counts on
  /\ server.document.id.owner # wire[c].owner
  /\ \E other \in Clients \ {c} : CountsOnALease(other)

ExecuteWin(c) ==
  /\ wire[c].kind = "acquire"
  /\ \E waited \in 0 .. MayHaveWaited(c) :
       /\ MayTake(wire[c], waited)
       /\ broken' = broken \cup Breaks("G1", GivesALeaseAway(c))
       /\ Granted(c, waited)

\* Somebody has it, who is neither dead nor expired. The reply shows by which lockId.
ExecuteRefusal(c) ==
  LET m == wire[c]
      refusal == [Reply(m, "refused") EXCEPT !.seen = server.document.id]
      win == [Reply(m, "won") EXCEPT !.order = serial + 1, !.token = serial + 1]
  IN /\ m.kind = "acquire"
     /\ \E waited \in 0 .. MayHaveWaited(c) :
          /\ ~MayTake(m, waited)
          /\ broken' = broken \cup Breaks("G7", /\ client[c].awaits
                                                /\ client[c].doubtful = server.document.id.owner)
          /\ IF WinnerChecked
             THEN /\ Replied(c, refusal, server)
                  /\ UNCHANGED <<now, serial, client, resource>>
                  /\ server' = Remembered(server)
             ELSE /\ serial' = serial + 1
                  /\ Replied(c, win, Written(server.document))
                  /\ UNCHANGED <<now, client, resource>>
                  /\ server' = Remembered(Written(server.document))

\* A time of the whole cluster, which the command reads when it starts.
ReadClusterTime(c) ==
  /\ TokenFrom = "cluster time"
  /\ wire[c].kind = "acquire" /\ wire[c].token = 0
  /\ serial' = serial + 1
  /\ wire' = [wire EXCEPT ![c].token = serial + 1]
  /\ UNCHANGED <<now, client, resource, broken>>
  /\ server' = Remembered(server)

ExecuteExtension(c) ==
  LET m == wire[c]
      old == server.document
      isOurs == old.id.owner = m.owner
      beat == CASE BeatRaised = "not by extensions" -> old.id.beat
                [] BeatRaised = "restarted" -> 1
                [] BeatRaised = "counted" -> old.id.beat + 1
                [] OTHER -> m.beat
  IN /\ m.kind = "extend"
     /\ \/ isOurs
        \/ There(old) /\ ~ExtensionChecksOwner
        \/ ~There(old) /\ ~ExtensionOnlyUpdates
     /\ \E waited \in 0 .. MayHaveWaited(c) :
          LET written == Written([old EXCEPT !.id = [owner |-> m.owner, beat |-> beat],
                                             !.until = NewExpiry(m.owner, waited, TRUE)])
          IN /\ Replied(c, Reply(m, "extended"), written)
             /\ UNCHANGED <<now, serial, client, resource>>
             /\ server' = Remembered(written)
     /\ broken' = broken \cup Breaks("G6", ~isOurs)

\* It is its receiver's if it is still its giver's, or the receiver's already.
ExecuteHandOver(c) ==
  LET m == wire[c]
      old == server.document
      isGiven == There(old) /\ old.id.owner \in {m.owner, m.giver}
  IN /\ m.kind = "hand over"
     /\ \/ isGiven
        \/ There(old) /\ ~HandOverChecksOwners
        \/ ~There(old) /\ ~HandOverOnlyUpdates
     /\ \E waited \in 0 .. MayHaveWaited(c) : Granted(c, waited)
     /\ broken' = broken \cup Breaks("G6", ~isGiven) \cup Breaks("G1", GivesALeaseAway(c))

\* An extension, or a hand-over, of what is another's or not there.
ExecuteNoMatch(c) ==
  LET m == wire[c]
      old == server.document
  IN /\ \/ /\ m.kind = "extend"
           /\ old.id.owner # m.owner
           /\ IF There(old) THEN ExtensionChecksOwner ELSE ExtensionOnlyUpdates
        \/ /\ m.kind = "hand over"
           /\ IF There(old) THEN HandOverChecksOwners /\ old.id.owner \notin {m.owner, m.giver}
              ELSE HandOverOnlyUpdates
     /\ Replied(c, Reply(m, "no match"), server)
     /\ UNCHANGED <<now, serial, client, resource, broken>>
     /\ server' = Remembered(server)

\* Nobody waits for it, where held() has ended before.
ExecuteDelete(c) ==
  LET m == wire[c]
      old == server.document
      isOurs == old.id.owner \in {m.owner, m.giver}
      matches == There(old) /\ (isOurs \/ ~ReleaseChecksOwner)
      after == IF matches THEN Written(NoDocument) ELSE server
  IN /\ m.kind = "delete"
     /\ Replied(c, Reply(m, "gone"), after)
     /\ broken' = broken \cup Breaks("G6", matches /\ ~isOurs)
     /\ UNCHANGED <<now, serial, client, resource>>
     /\ server' = Remembered(after)

------------------------------------------------------------------------------
(* A client hears a reply. *)

Hears(c, kind) == wire[c].kind = kind /\ (wire[c].committed \/ ~MajorityAwaited)
Heard(c) == wire' = [wire EXCEPT ![c] = NoMessage]

LeaseFrom(m) == (IF DeadlineFromSending THEN m.sent ELSE now) + Lease
GrantFrom(m) == LeaseFrom(m) + (IF HolderKeepsDriftMargin THEN 0 ELSE 1)
IsInTime(m) == GrantFrom(m) > now \/ ~HasDeadline

\* The fenced resource sees each grant as soon as its holder does.
HearWin(c) ==
  LET m == wire[c]
      latest == m.order > resource.order
      falls == IF latest THEN m.token <= resource.token
               ELSE m.order < resource.order /\ m.token >= resource.token
  IN /\ Hears(c, "won") /\ IsInTime(m)
     /\ Heard(c)
     /\ client' = [client EXCEPT ![c] =
                     [@ EXCEPT !.phase = "holding", !.awaits = FALSE, !.giver = NoOwner,
                               !.deadline = GrantFrom(m), !.due = m.sent + Lease,
                               !.token = m.token, !.order = m.order, !.doubtful = NoOwner]]
     /\ resource' = IF latest THEN [token |-> m.token, order |-> m.order] ELSE resource
     /\ broken' = broken \cup Breaks("G4", TokenFrom # "nothing" /\ resource.order # 0 /\ falls)
     /\ UNCHANGED <<now, serial>>
     /\ server' = Remembered(server)

\* It is given back, and a fresh owner goes on.
HearWinTooLate(c) ==
  LET m == wire[c]
      ends == FreshOwnerAfterDelete /\ OwnerPer # "process"
  IN /\ Hears(c, "won") /\ ~IsInTime(m)
     /\ Heard(c)
     /\ client' = [client EXCEPT ![c] =
                     [@ EXCEPT !.phase = "waiting", !.awaits = FALSE, !.giver = NoOwner,
                               !.cleanUp = IF @ = NoOwner THEN m.owner ELSE @,
                               !.doubtful = NoOwner, !.beat = 0,
                               !.owner = IF ends THEN NoOwner ELSE @]]
     /\ UNCHANGED <<now, serial, resource, broken>>
     /\ server' = Remembered(server)

\* What it saw before, unchanged, it goes on seeing.
HearRefusal(c) ==
  LET m == wire[c]
      since == IF SightFromItsReply THEN now ELSE m.sent
      isNew == m.seen # NoLockId /\ m.seen # client[c].sight
  IN /\ Hears(c, "refused")
     /\ Heard(c)
     /\ client' = [client EXCEPT ![c] =
                     [@ EXCEPT !.phase = "waiting", !.awaits = FALSE,
                               !.sight = IF isNew THEN m.seen ELSE @,
                               !.since = IF isNew THEN since ELSE @]]
     /\ UNCHANGED <<now, serial, resource, broken>>
     /\ server' = Remembered(server)

\* Too late for a handle that is lost: an extension never revives one.
HearExtension(c) ==
  LET m == wire[c]
      me == client[c]
      isAlive == me.deadline > now \/ ~HasDeadline
      revives == ~isAlive /\ ~LateExtensionIgnored /\ LeaseFrom(m) > now
  IN /\ Hears(c, "extended")
     /\ Heard(c)
     /\ client' = [client EXCEPT ![c] =
                     [@ EXCEPT !.awaits = FALSE,
                               !.deadline = IF isAlive \/ revives THEN Max(@, LeaseFrom(m)) ELSE @,
                               !.due = IF isAlive THEN Max(@, m.sent + Lease) ELSE @]]
     /\ broken' = broken \cup Breaks("G5", revives)
     /\ UNCHANGED <<now, serial, resource>>
     /\ server' = Remembered(server)

\* Nothing was handed over: it goes on for itself. Nothing was extended: it holds no longer.
HearNoMatch(c) ==
  /\ Hears(c, "no match")
  /\ Heard(c)
  /\ client' = [client EXCEPT ![c] =
                  IF @.phase = "asking"
                  THEN [@ EXCEPT !.phase = "waiting", !.awaits = FALSE, !.giver = NoOwner]
                  ELSE IF HasDeadline THEN [@ EXCEPT !.awaits = FALSE, !.deadline = 0, !.due = 0]
                  ELSE [@ EXCEPT !.awaits = FALSE, !.deadline = 0, !.due = 0, !.phase = "idle",
                                 !.owner = NoOwner, !.token = 0, !.order = 0]]
  /\ UNCHANGED <<now, serial, resource, broken>>
  /\ server' = Remembered(server)

HearGone(c) ==
  /\ Hears(c, "gone")
  /\ Heard(c)
  /\ client' = [client EXCEPT ![c] = [EndOfHolding(c) EXCEPT !.awaits = FALSE]]
  /\ UNCHANGED <<now, serial, resource, broken>>
  /\ server' = Remembered(server)

------------------------------------------------------------------------------
(* What nobody does. *)

Tick ==
  /\ now' = now + 1
  /\ UNCHANGED <<serial, client, wire, resource, broken>>
  /\ server' = Remembered(server)

Commit ==
  /\ server.dirty
  /\ wire' = [c \in Clients |-> IF IsReply(wire[c]) THEN [wire[c] EXCEPT !.committed = TRUE] ELSE wire[c]]
  /\ UNCHANGED <<now, serial, client, resource, broken>>
  /\ server' = Remembered([server EXCEPT !.dirty = FALSE, !.backed = server.document])

\* Another is primary, with another clock. What no majority had is taken back, and nobody hears of it.
Failover ==
  /\ Failovers
  /\ wire' = [c \in Clients |-> IF IsReply(wire[c]) /\ ~wire[c].committed /\ MajorityAwaited
                                THEN NoMessage ELSE wire[c]]
  /\ UNCHANGED <<now, serial, client, resource, broken>>
  /\ server' = Remembered([server EXCEPT !.document = server.backed, !.dirty = FALSE,
                                         !.ahead = ~server.ahead, !.elected = now])

TtlPass ==
  /\ TtlPasses
  /\ There(server.document) /\ server.document.until <= Clock
  /\ UNCHANGED <<now, serial, client, wire, resource, broken>>
  /\ server' = Remembered(Written(NoDocument))

Lose(c) ==
  /\ Losses
  /\ wire[c] # NoMessage
  /\ wire' = [wire EXCEPT ![c] = NoMessage]
  /\ UNCHANGED <<now, serial, client, resource, broken>>
  /\ server' = Remembered(server)

------------------------------------------------------------------------------
Init ==
  /\ now = 0
  /\ serial = 1
  /\ server = [document |-> NoDocument, backed |-> NoDocument, dirty |-> FALSE, ahead |-> FALSE,
               elected |-> 0 - Oldest]
  /\ client = [c \in Clients |-> NewClient]
  /\ wire = [c \in Clients |-> NoMessage]
  /\ resource = [token |-> 0, order |-> 0]
  /\ broken = {}

Next ==
  \/ Tick \/ Commit \/ Failover \/ TtlPass
  \/ \E c \in Clients : Attempt(c)
  \/ \E c \in Clients : TimeOut(c)
  \/ \E c \in Clients : GiveUp(c)
  \/ \E c \in Clients : CleanUp(c)
  \/ \E c \in Clients : Extend(c)
  \/ \E c \in Clients : Release(c)
  \/ \E c, to \in Clients : HandOver(c, to)
  \/ \E c \in Clients : Crash(c)
  \/ \E c \in Clients : Lose(c)
  \/ \E c \in Clients : ExecuteWin(c)
  \/ \E c \in Clients : ExecuteRefusal(c)
  \/ \E c \in Clients : ReadClusterTime(c)
  \/ \E c \in Clients : ExecuteExtension(c)
  \/ \E c \in Clients : ExecuteHandOver(c)
  \/ \E c \in Clients : ExecuteNoMatch(c)
  \/ \E c \in Clients : ExecuteDelete(c)
  \/ \E c \in Clients : HearWin(c)
  \/ \E c \in Clients : HearWinTooLate(c)
  \/ \E c \in Clients : HearRefusal(c)
  \/ \E c \in Clients : HearExtension(c)
  \/ \E c \in Clients : HearNoMatch(c)
  \/ \E c \in Clients : HearGone(c)

Spec == Init /\ [][Next]_vars

------------------------------------------------------------------------------
(* The guarantees. Those of steps are broken by the step that says so. *)

G1 == "G1" \notin broken  \* a lease is given to another only when nobody counts on it

G2 == \A c, other \in Clients : Holding(c) /\ Holding(other) => c = other

\* The resource takes no write of an earlier holder after a grant to a later one, and refuses none that still holds.
G3 == \A c \in Clients :
        client[c].phase = "holding" /\ client[c].order < resource.order =>
          client[c].token < resource.token /\ ~(Holding(c) /\ client[c].deadline > now)

G4 == "G4" \notin broken  \* tokens rise with the writes that gave them

G5 == "G5" \notin broken /\ \A c \in Clients : Holding(c) => client[c].due > now  \* held() ends in time

G6 == "G6" \notin broken  \* nobody touches what is another's

G7 == "G7" \notin broken  \* of G7 this much: a retry recognises its own win

------------------------------------------------------------------------------
(* What matters of a state: distances in time, of owners and lockIds which are the same, of orders which is less. *)

\* A lockId that no document has now will never be in one again, where each command has one of its own.
Standing(id) ==
  IF BeatRaised = "by every command" /\ SeenOwnerCompared /\ SeenBeatCompared
     /\ id \notin {server.document.id, server.backed.id}
  THEN NoLockId ELSE id

RECURSIVE OwnersOf(_)
OwnersOf(c) ==  \* wherever client c and those before it name one
  IF c = 0 THEN <<server.document.id.owner, server.backed.id.owner>>
  ELSE OwnersOf(c - 1) \o
         <<client[c].owner, client[c].doubtful, client[c].cleanUp, client[c].giver, wire[c].owner, wire[c].giver,
           Standing(client[c].sight).owner, Standing(wire[c].seen).owner>>

RECURSIVE LockIdsOf(_)
LockIdsOf(c) ==
  IF c = 0 THEN <<server.document.id, server.backed.id>>
  ELSE LockIdsOf(c - 1) \o <<Standing(client[c].sight), Standing(wire[c].seen)>> \o
         (IF BeatRaised # "not by retries" THEN <<>>
          ELSE <<[owner |-> client[c].owner, beat |-> client[c].beat],
                 [owner |-> wire[c].owner, beat |-> wire[c].beat]>>)

\* Each is shown by one place where it stands.
SameAs(names) == [i \in DOMAIN names |-> CHOOSE j \in DOMAIN names : names[j] = names[i]]

\* What is earlier than the latest grant that the resource has heard of is alike.
Relevant(order) ==
  IF TokenFrom = "operation time" /\ 0 < order /\ order < resource.order THEN 1 ELSE order
Orders ==
  {0, Relevant(resource.order)} \cup {Relevant(client[c].order) : c \in Clients}
    \cup {Relevant(wire[c].order) : c \in Clients}
    \cup (IF TokenFrom = "cluster time"
          THEN {resource.token} \cup {client[c].token : c \in Clients} \cup {wire[c].token : c \in Clients}
          ELSE {})

\* A bound for TLC, where all states would be too many.
Near == TLCGet("level") <= Depth

View ==
  LET owners == OwnersOf(N)
      lockIds == LockIdsOf(N)
      orders == Orders
      rank(order) == Cardinality({x \in orders : x < Relevant(order)})
      token(t) == CASE TokenFrom = "counter" -> t
                    [] TokenFrom = "cluster time" -> Cardinality({x \in orders : x < t})
                    [] OTHER -> 0
      left(date) == Max(date - now, 0)
      document(d) == <<IF There(d) THEN d.until - Clock ELSE 0, IF TokenFrom = "counter" THEN d.counter ELSE 0>>
      sight(c) == IF Standing(client[c].sight) = NoLockId THEN 0 ELSE Min(now - client[c].since, Oldest)
  IN <<server.ahead, server.dirty, now - server.elected, document(server.document), document(server.backed),
       [i \in DOMAIN owners |-> owners[i][1]], SameAs(owners),
       IF BeatRaised \in {"counted", "restarted"} THEN [i \in DOMAIN lockIds |-> lockIds[i].beat]
       ELSE SameAs(lockIds),
       [c \in Clients |->
          <<client[c].phase, client[c].awaits, left(client[c].deadline), left(client[c].due), sight(c),
            rank(client[c].order), token(client[c].token)>>],
       [c \in Clients |->
          <<wire[c].kind, IF wire[c] = NoMessage THEN 0 ELSE Age(c), wire[c].committed,
            rank(wire[c].order), token(wire[c].token)>>],
       rank(resource.order), token(resource.token), broken>>

=============================================================================
