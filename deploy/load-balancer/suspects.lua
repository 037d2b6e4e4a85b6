-- Gives no new connections to an API server whose check has lasted for a second or has failed. Once it answers it gets new ones again.
-- Where none is better, suspects get them as well: on a busy machine all are slow.
--
-- Ends the connections of one whose last check got no answer, and that has sent no byte for five seconds in which another one was good.
-- The check alone is no proof, because this process may be the slow one. Nor is silence, because watches and streams of containers idle:
-- an API server that answers a check with an error keeps them. Where all hang, the first one that goes on must not end the connections of
-- those that follow. Looks are counted, not seconds: time in which this process does not run must not count.

local BACKEND = "apiservers"
local LOOK_EVERY_MS = 200
local SLOW_AFTER_LOOKS = 5
-- More than there are between two checks: of servers that hang at the same moment, one is found slow so much later than another.
local SILENT_AFTER_LOOKS = 25
-- Results of checks in which a server did not even begin its part of a TLS handshake. A refused connection is an answer: of one that ends.
local UNANSWERED = { L4TOUT = true, L6TOUT = true }

local GOOD, SLOW, FAILED, DOWN = 1, 2, 3, 4

-- How many looks in a row have found the check of a server under way.
local looks = {}

local function state_of(name, stats)
  local rise = tonumber(stats.check_rise)
  local health = tonumber(stats.check_health)
  -- Also slots of the template without a server.
  if rise == nil or health == nil or health < rise then return DOWN end
  local is_under_way = string.sub(stats.check_status or "", 1, 1) == "*"
  looks[name] = is_under_way and (looks[name] or 0) + 1 or 0
  if health < rise + tonumber(stats.check_fall) - 1 then return FAILED end
  return looks[name] > SLOW_AFTER_LOOKS and SLOW or GOOD
end

-- How many bytes each server has sent, and how many looks have found no more since its check became late or failed. A look that finds no
-- other one good takes one back.
local silence = {}

local function is_silent(name, stats, state, best)
  local bytes = tonumber(stats.bout) or 0
  local before = silence[name]
  -- After "* " while the next check is under way.
  local is_unanswered = UNANSWERED[string.match(stats.check_status or "", "%w+")]
  local count = 0
  if (state == SLOW or is_unanswered) and before ~= nil and before.bytes == bytes then
    count = math.max(0, before.looks + (best == GOOD and 1 or -1))
  end
  silence[name] = { bytes = bytes, looks = count }
  return count >= SILENT_AFTER_LOOKS
end

local function look(servers)
  local stats = {}
  local states = {}
  local best = DOWN
  for name, server in pairs(servers) do
    stats[name] = server:get_stats()
    states[name] = state_of(name, stats[name])
    best = math.min(best, states[name])
  end
  for name, server in pairs(servers) do
    local state = states[name]
    local has_connections = (tonumber(stats[name].scur) or 0) > 0
    -- Counted at every look, also where nothing follows.
    if is_silent(name, stats[name], state, best) and best == GOOD and has_connections then
      core.Warning("The connections of " .. BACKEND .. "/" .. name .. " end: it is silent.")
      server:shut_sess()
    end
    local is_suspect = state ~= DOWN and state > best
    if is_suspect and not server:is_draining() then server:set_drain() end
    if not is_suspect and server:is_draining() then server:set_ready() end
  end
end

core.register_task(function()
  while true do
    look(core.backends[BACKEND].servers)
    core.msleep(LOOK_EVERY_MS)
  end
end)
