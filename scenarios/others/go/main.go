// The Mutex of etcd's own client (clientv3/concurrency), by the protocol of scenarios/WORKERS.md. With the argument
// `try` each acquire is one TryLock.
//
// A process has one session for its holdings, as in etcd's examples, and another one while a name is in use already,
// because a Mutex with the same session has the same key. The session's time to live is the lease, in whole seconds;
// the server makes it at least 2 s. Its Done() is a loss. The token is the revision by which IsOwner() compares.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"golang.org/x/sys/unix"
)

const requestTimeout = 5 * time.Second // of what the protocol sets no time for

type question struct {
	Do, URI, Database, Name  string
	ID, Lease_ms, Timeout_ms int64
}

type answer struct {
	ID    int64  `json:"id"`
	Is    string `json:"is"`
	AtNs  int64  `json:"at_ns,omitempty"`
	Token int64  `json:"token,omitempty"`
	Why   string `json:"why,omitempty"`
}

var output sync.Mutex

func say(said answer) {
	output.Lock()
	defer output.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(said)
}

func nowNs() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	return now.Nano()
}

type holding struct {
	name    string
	session *concurrency.Session
	mutex   *concurrency.Mutex
	ended   chan struct{} // by its release
}

type worker struct {
	client   *clientv3.Client
	ttl      int
	prefix   string
	try      bool
	holdings sync.Map
	mutex    sync.Mutex
	sessions map[*concurrency.Session]map[string]bool // each with the names that are in use with it
}

func connect(q question, try bool) (*worker, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: strings.Split(strings.TrimPrefix(q.URI, "etcd://"), ","), DialTimeout: requestTimeout})
	return &worker{client: client, ttl: int((q.Lease_ms + 999) / 1000), prefix: "/" + q.Database + "/", try: try,
		sessions: map[*concurrency.Session]map[string]bool{}}, err
}

func over(session *concurrency.Session) bool {
	return session.Ctx().Err() != nil
}

// known gives a session with which the name is not in use, and notes that it is; nil: there is none.
func (w *worker) known(name string) *concurrency.Session {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for session, names := range w.sessions {
		if over(session) {
			delete(w.sessions, session)
		} else if !names[name] {
			names[name] = true
			return session
		}
	}
	return nil
}

func (w *worker) session(ctx context.Context, name string) (*concurrency.Session, error) {
	if session := w.known(name); session != nil {
		return session, nil
	}
	lease, err := w.client.Grant(ctx, int64(w.ttl)) // WithContext would end the session with ctx
	if err != nil {
		return nil, err
	}
	session, err := concurrency.NewSession(w.client, concurrency.WithLease(lease.ID), concurrency.WithTTL(w.ttl))
	if err == nil {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.sessions[session] = map[string]bool{name: true}
	}
	return session, err
}

func (w *worker) done(session *concurrency.Session, name string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.sessions[session], name)
}

func (w *worker) acquire(q question) {
	timeout, once := time.Duration(q.Timeout_ms)*time.Millisecond, w.try || q.Timeout_ms == 0
	if once {
		timeout = requestTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	session, err := w.session(ctx, q.Name)
	if err != nil {
		say(answer{ID: q.ID, Is: "failed", Why: err.Error()})
		return
	}
	mutex := concurrency.NewMutex(session, w.prefix+q.Name)
	attempt := mutex.Lock
	if once {
		attempt = mutex.TryLock
	}
	if err := attempt(ctx); err != nil {
		w.done(session, q.Name)
		said := answer{ID: q.ID, Is: "failed", Why: err.Error()}
		if errors.Is(err, concurrency.ErrLocked) {
			said = answer{ID: q.ID, Is: "refused"}
		} else if errors.Is(err, context.DeadlineExceeded) && !once {
			said.Is = "timed_out"
		}
		say(said)
		return
	}
	isOwner := mutex.IsOwner()
	h := &holding{q.Name, session, mutex, make(chan struct{})}
	w.holdings.Store(q.ID, h)
	say(answer{ID: q.ID, Is: "granted", Token: (*etcdserverpb.Compare)(&isOwner).GetCreateRevision()})
	select {
	case <-session.Done():
		say(answer{ID: q.ID, Is: "lost"})
	case <-h.ended:
	}
}

func (w *worker) ask(id int64) {
	at := nowNs()
	held, _ := w.holdings.Load(id)
	is := "held"
	if over(held.(*holding).session) {
		is = "not_held"
	}
	say(answer{ID: id, Is: is, AtNs: at})
}

func (w *worker) release(id int64) {
	held, _ := w.holdings.LoadAndDelete(id)
	h := held.(*holding)
	close(h.ended)
	defer w.done(h.session, h.name)
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	wasOver := over(h.session)
	if err := h.mutex.Unlock(ctx); err != nil {
		h.session.Orphan() // or the lock might be kept as long as the session is
		say(answer{ID: id, Is: "unknown", Why: err.Error()})
	} else if wasOver {
		say(answer{ID: id, Is: "not_owner"})
	} else {
		say(answer{ID: id, Is: "released"})
	}
}

func main() {
	var w *worker
	questions := json.NewDecoder(os.Stdin)
	for {
		var q question
		if questions.Decode(&q) != nil || q.Do == "stop" {
			return
		}
		switch q.Do {
		case "start":
			var err error
			if w, err = connect(q, len(os.Args) > 1 && os.Args[1] == "try"); err != nil {
				os.Stderr.WriteString(err.Error() + "\n")
				os.Exit(1)
			}
			say(answer{Is: "ready"})
		case "acquire":
			go w.acquire(q)
		case "ask":
			w.ask(q.ID)
		case "release":
			go w.release(q.ID)
		}
	}
}
