-- SPDX-License-Identifier: Apache-2.0
-- One trial for MoonGen (libmoon's API): a constant rate of equal UDP frames, counted; nothing else is sent.
-- Usage: MoonGen trial.lua ORDER RESULT, two files. ORDER holds lines of `key value`; RESULT is written as JSON.
local mg     = require "moongen"
local device = require "device"
local memory = require "memory"

local FIRST_PORT, ECHO = 0xc020, 7
-- Drivers of NICs whose registers count frames that nobody takes; any other counts what was taken from its queue.
local COUNTS_BY_ITSELF = { net_i40e = true, net_ixgbe = true, net_e1000_igb = true, net_e1000_em = true }

local function readOrder(path)
	local order = {}
	for line in io.lines(path) do
		local key, value = line:match("^(%S+)%s+(.+)$")
		order[key] = tonumber(value) or value
	end
	return order
end

function configure(parser)
	parser:argument("order", "file that says what to send")
	parser:argument("result", "file that receives the counts")
end

-- Send exactly `count` frames and say how many left and how long it took. The NIC paces, or this loop does. Only the
-- source port differs between frames, so the checksum of the IP header is made once; UDP over IPv4 needs none.
function sender(queue, order, side)
	local size = order.frame_octets - 4
	local mem = memory.createMemPool(function(buf)
		local pkt = buf:getUdpPacket()
		pkt:fill{
			ethSrc = order["mac_" .. side], ethDst = order["next_" .. side],
			ip4Src = order["ipv4_" .. side], ip4Dst = order["ipv4_" .. (1 - side)],
			udpSrc = FIRST_PORT, udpDst = ECHO, pktLength = size,
		}
		pkt.ip4:calculateChecksum()
	end)
	local bufs = mem:bufArray(order.burst)
	local sent, flow, began = 0, 0, mg.getTime()
	while mg.running() and sent < order.frames do
		local due = order.frames - sent
		if order.software_pacing == 1 then
			due = math.min(due, math.floor((mg.getTime() - began) * order.load_fps) + 1 - sent)
		end
		if due > 0 then
			bufs:allocN(size, math.min(order.burst, due))
			for _, buf in ipairs(bufs) do
				buf:getUdpPacket().udp:setSrcPort(FIRST_PORT + flow)
				flow = (flow + 1) % order.flows
			end
			sent = sent + queue:send(bufs)
		end
	end
	return sent, mg.getTime() - began
end

-- Take what arrives, so that the device counts it.
function receiver(queue)
	local bufs = memory.bufArray()
	while mg.running() do
		bufs:free(queue:tryRecv(bufs, 100))
	end
end

local function number(value)
	if type(value) ~= "number" or value ~= value or value == math.huge or value == -math.huge then
		return "null"
	end
	return string.format("%.17g", value)
end

local function counted(devs)
	local sum = 0
	for side = 0, 1 do
		local tx, rx = devs[side]:getTxStats(), devs[side]:getRxStats()
		sum = sum + tx + rx
	end
	return sum
end

function master(args)
	local order = readOrder(args.order)
	local devs = {}
	for side = 0, 1 do
		devs[side] = device.config{ port = order["port_" .. side] }
	end
	device.waitForLinks()
	for side = 0, 1 do
		if not COUNTS_BY_ITSELF[devs[side]:getDriverName()] then
			mg.startTask("receiver", devs[side]:getRxQueue(0))
		end
	end
	local before, tasks = {}, {}
	for side = 0, 1 do  -- of both, before either sends
		local tx, rx = devs[side]:getTxStats(), devs[side]:getRxStats()
		before[side] = { tx, rx }
	end
	for side = 0, 1 do
		if order["send_" .. side] == 1 then
			local queue = devs[side]:getTxQueue(0)
			if order.software_pacing ~= 1 then  -- in whole Mbit/s of frames with their FCS
				queue:setRate(math.max(1, math.floor(order.load_fps * order.frame_octets * 8 / 1e6 + 0.5)))
			end
			tasks[side] = mg.startTask("sender", queue, order, side)
		end
	end
	local lines = {}
	for side = 0, 1 do
		if tasks[side] then
			local sent, took = tasks[side]:wait()
			table.insert(lines, string.format('"%d": {"sent": %s, "took_s": %s}', side, number(sent), number(took)))
		end
	end
	-- Residual frames: until no port has counted one for the drain time, at most ten times as long.
	local moved, seen = 1, -1
	while moved <= 10 and seen ~= counted(devs) do
		moved, seen = moved + 1, counted(devs)
		mg.sleepMillisIdle(order.drain_ms)
	end
	local ports = {}
	for side = 0, 1 do
		local tx, rx = devs[side]:getTxStats(), devs[side]:getRxStats()
		table.insert(ports, string.format('"%d": {"tx": %s, "rx": %s}', side,
			number(tx - before[side][1]), number(rx - before[side][2])))
	end
	local out = io.open(args.result .. ".part", "w")
	out:write(string.format('{"version": %q, "senders": {%s}, "ports": {%s}}\n',
		tostring(mg.version or "unknown"), table.concat(lines, ", "), table.concat(ports, ", ")))
	out:close()
	os.rename(args.result .. ".part", args.result)
	mg.stop()
end
