#pragma once

/// All of the public API. An inline namespace has the version, so that a program does not link with
/// the library of another version than its headers.
#include <leasehold/fencing_token.hpp>
#include <leasehold/leadership.hpp>
#include <leasehold/lock_event.hpp>
#include <leasehold/lock_handle.hpp>
#include <leasehold/lock_options.hpp>
#include <leasehold/lock_provider.hpp>
#include <leasehold/lockable.hpp>
#include <leasehold/metrics.hpp>
#include <leasehold/result.hpp>
#include <leasehold/run_while_held.hpp>
#include <leasehold/waiting.hpp>
