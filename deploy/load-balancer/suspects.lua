-- Gives no new connections to an API server whose check has lasted for a second or has failed. Once it answers it gets new ones again.
-- Where none is better, suspects get them as well: on a busy machine all are slow.
--
-- Ends the connections of one that is marked down, if it has sent no byte for ten seconds, and another one is up. A failed check alone is
-- no proof, because this process may be the slow one. Looks are counted, not seconds: time in which this process does not run must not
-- count.

local BACKEND = "apiservers"
local LOOK_EVERY_MS = 200
local SLOW_AFTER_LOOKS = 5
local SILENT_AFTER_LOOKS = 50

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

-- How many bytes each server has sent, and how many looks in a row have found no more.
local sent = {}

local function is_silent(name, stats)
  local bytes = tonumber(stats.bout) or 0
  local before = sent[name]
  local looks_in_a_row = before ~= nil and before.bytes == bytes and before.looks + 1 or 0
  sent[name] = { bytes = bytes, looks = looks_in_a_row }
  return looks_in_a_row >= SILENT_AFTER_LOOKS
end

local function look(servers)
  local states = {}
  local best = DOWN
  local silent = {}
  for name, server in pairs(servers) do
    local stats = server:get_stats()
    states[name] = state_of(name, stats)
    best = math.min(best, states[name])
    silent[name] = is_silent(name, stats) and (tonumber(stats.scur) or 0) > 0
  end
  for name, server in pairs(servers) do
    if states[name] == DOWN and best ~= DOWN and silent[name] then server:shut_sess() end
    local is_suspect = states[name] ~= DOWN and states[name] > best
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
