// Says by Porcupine whether the operations of locks are linearizable, as
// `leasehold-lab export HISTORY` writes them. Exit code 1 if they are not.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/anishathalye/porcupine"
)

type operation struct {
	ClientID  int    `json:"client_id"`
	Lock      string `json:"lock"`
	Operation string `json:"operation"`
	CallNs    int64  `json:"call_ns"`
	ReturnNs  int64  `json:"return_ns"`
}

// A lock is free or taken: an acquire needs it free, a release needs it taken.
var lock = porcupine.Model{
	Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
		byLock := map[string][]porcupine.Operation{}
		for _, one := range all {
			name := one.Input.(operation).Lock
			byLock[name] = append(byLock[name], one)
		}
		parts := [][]porcupine.Operation{}
		for _, part := range byLock {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() interface{} { return false },
	Step: func(taken, input, output interface{}) (bool, interface{}) {
		acquires := input.(operation).Operation == "acquire"
		return taken.(bool) != acquires, acquires
	},
}

func fail(why error) {
	if why != nil {
		fmt.Fprintln(os.Stderr, "lockcheck:", why)
		os.Exit(64)
	}
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: lockcheck FILE"))
	}
	text, err := os.ReadFile(os.Args[1])
	fail(err)
	var exported struct {
		Operations []operation `json:"operations"`
	}
	fail(json.Unmarshal(text, &exported))
	operations := []porcupine.Operation{}
	for _, one := range exported.Operations {
		operations = append(operations, porcupine.Operation{
			ClientId: one.ClientID, Input: one, Call: one.CallNs, Return: one.ReturnNs})
	}
	if !porcupine.CheckOperations(lock, operations) {
		fmt.Println(len(operations), "operations: not linearizable")
		os.Exit(1)
	}
	fmt.Println(len(operations), "operations: linearizable")
}
