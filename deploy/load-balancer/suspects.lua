-- Gives no new connections to an API server whose check has lasted for a second or has failed. Those that it has stay until it is
-- marked down: most often it is only slow. Once it answers it gets new ones again. Where none is better, suspects get them as well: on a
-- busy machine all are slow.

local BACKEND = "apiservers"
local LOOK_EVERY_MS = 200
local SLOW_AFTER_LOOKS = 5

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

local function look(servers)
  local states = {}
  local best = DOWN
  for name, server in pairs(servers) do
    states[name] = state_of(name, server:get_stats())
    best = math.min(best, states[name])
  end
  for name, server in pairs(servers) do
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
