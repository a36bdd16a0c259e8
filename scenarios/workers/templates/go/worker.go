// A worker in Go, by the protocol of scenarios/WORKERS.md: put your own lock between the two marks.
package main

import (
	"context"; "encoding/json"; "os"; "sync"; "time"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

type question struct{ Do, URI, Database, Name string; ID, Lease_ms, Timeout_ms int64 }
// >>> YOUR LOCK: connects; makes one attempt; says whether it is held; releases
type holding struct{ name, owner string; until time.Time }
var ctx, locks, leaseMs = context.Background(), (*mongo.Collection)(nil), int64(0)
func connect(q question) {
	client, _ := mongo.Connect(ctx, options.Client().ApplyURI(q.URI).SetTimeout(2*time.Second))
	locks, leaseMs = client.Database(q.Database).Collection("go.locks"), q.Lease_ms
}
func attempt(name string) (*holding, error) { // neither: somebody else has it
	owner, until := primitive.NewObjectID().Hex(), time.Now().Add(ms(leaseMs))
	free := bson.M{"$lt": bson.A{"$expires", "$$NOW"}} // or there is none
	mine := bson.M{"_id": "$_id", "owner": owner, "expires": bson.M{"$add": bson.A{"$$NOW", leaseMs}}}
	taken := []bson.M{{"$replaceWith": bson.M{"$cond": bson.A{free, mine, "$$ROOT"}}}}
	after := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
	found, err := locks.FindOneAndUpdate(ctx, bson.M{"_id": name}, taken, after).Raw()
	if err != nil || found.Lookup("owner").StringValue() != owner { return nil, err }
	return &holding{name, owner, until}, nil
}
func held(h *holding) bool { return time.Now().Before(h.until) }
func release(h *holding) string {
	freed, err := locks.DeleteOne(ctx, bson.M{"_id": h.name, "owner": h.owner})
	if err != nil { return "unknown" }
	return either(freed.DeletedCount > 0, "released", "not_owner")
}
// <<< YOUR LOCK
var holdings sync.Map
func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
func either(first bool, yes, no string) string { if first { return yes }; return no }
type answer struct{ ID int64 `json:"id"`; Is string `json:"is"` }
func say(id int64, is string) { json.NewEncoder(os.Stdout).Encode(answer{id, is}) }
func acquire(q question) {
	for end := time.Now().Add(ms(q.Timeout_ms)); ; time.Sleep(ms(100)) {
		h, err := attempt(q.Name)
		if h != nil { holdings.Store(q.ID, h); say(q.ID, "granted"); return }
		if err != nil { say(q.ID, "failed"); return }
		if time.Now().After(end) { say(q.ID, either(q.Timeout_ms == 0, "refused", "timed_out")); return }
	}
}
func main() {
	for questions := json.NewDecoder(os.Stdin); ; {
		var q question
		if questions.Decode(&q) != nil || q.Do == "stop" { return }
		h, _ := holdings.Load(q.ID)
		if q.Do == "start" { connect(q); say(0, "ready") }
		if q.Do == "acquire" { go acquire(q) }
		if q.Do == "ask" { say(q.ID, either(held(h.(*holding)), "held", "not_held")) }
		if q.Do == "release" { go func(id int64) { say(id, release(h.(*holding))) }(q.ID) }
	}
}
