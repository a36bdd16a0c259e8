"""The locks of scripts/services, which scripts/others installs."""

# Its compiler for long runs and its threads for garbage would take most of a small machine while processes start.
JAVA = "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp 'build/others/java:build/others/java/lib/*'"
PYTHON = "env PYTHONPATH=build/others/python/lib python3 -W ignore scenarios/others/python"

# Name (of its promises, too): what installs it, the worker's command, its stores (scenarios/stores); waits are compared
# on the first.
SERVICES = {
    "etcd-mutex": ("go", "build/others/go/worker", ["etcd"]),
    "etcd-trylock": ("go", "build/others/go/worker try", ["etcd"]),
    "curator": ("java", f"{JAVA} CuratorWorker", ["zookeeper"]),
    "kazoo": ("python", f"{PYTHON}/kazoo_worker.py", ["zookeeper"]),
    "redlock": ("node", "node build/others/node/redlock.js", ["redis5"]),
    "redisson": ("java", f"{JAVA} RedissonWorker", ["redis", "redis-sentinel"]),
    "redisson-fenced": ("java", f"{JAVA} RedissonWorker fenced", ["redis", "redis-sentinel"]),
    "redis-py": ("python", f"{PYTHON}/redis_worker.py", ["redis", "redis-sentinel"]),
    "postgres-session": ("python", f"{PYTHON}/postgres_worker.py session", ["postgres", "postgres-sync"]),
    "postgres-transaction": ("python", f"{PYTHON}/postgres_worker.py transaction", ["postgres", "postgres-sync"]),
}
