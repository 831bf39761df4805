// What the page does: it connects, keeps the list of devices and their markers, and sends texts. Of stomp.js it uses what
// the original (jmesnil/stomp-websocket) has: Stomp.client(), connect(), subscribe(), send(), disconnect(), onreceipt.
"use strict";

const $ = id => document.getElementById(id);
const LOCATIONS = "/topic/device.*.location";
const COLOURS = ["#d1352b", "#1763c6", "#12824c", "#8a3ab9", "#c96a00", "#00838f", "#b0266f", "#5d6b00"];
const LONGEST_WAIT = 10000; // milliseconds between two attempts to connect

const devices = new Map();
const map = new DeviceMap($("map"));
let client = null; // of the connection, or of the attempt; null: none is wanted
let again = null; // the timer of the next attempt
let failures = 0; // in a row
let texts = 0;

// ---- The connection

function say(state, text) {
  $("state").dataset.state = state;
  $("state").textContent = text;
  const wanted = state !== "disconnected";
  $("connect").disabled = wanted;
  $("disconnect").disabled = !wanted;
  for (const id of ["url", "login", "passcode", "host"]) $(id).disabled = wanted;
  $("known").hidden = !wanted;
  $("text").hidden = state !== "connected";
}

// Each attempt has a socket and a client of its own: those of stomp.js cannot be used twice. What a client says that is
// not the current one any more is ignored.
function connect() {
  again = null;
  let mine;
  try {
    mine = Stomp.client($("url").value);
  } catch (error) { // not a URL of a WebSocket
    say("disconnected", String(error.message || error));
    return;
  }
  client = mine;
  if (!new URLSearchParams(location.search).has("debug")) mine.debug = null;
  mine.onreceipt = frame => confirmed(frame.headers["receipt-id"]);
  say("connecting", "Connecting…");
  const headers = { login: $("login").value, passcode: $("passcode").value, host: $("host").value };
  mine.connect(headers, () => {
    if (client !== mine) return;
    failures = 0;
    mine.subscribe(LOCATIONS, message => received(message.body));
    say("connected", "Connected");
  }, error => {
    if (client === mine) lost(typeof error === "string" ? error : error.headers && error.headers.message);
  });
}

// The markers stay: they are where the devices were.
function lost(why) {
  const wait = Math.min(LONGEST_WAIT, 500 * 2 ** failures++) * (.5 + Math.random() / 2);
  client = null;
  say("waiting", "Connection lost, trying again: " + (why || "no reason was given"));
  again = setTimeout(connect, wait);
}

function disconnect() {
  clearTimeout(again);
  again = null;
  failures = 0;
  const was = client, connected = $("state").dataset.state === "connected";
  client = null;
  if (was && connected) was.disconnect(() => {});
  else if (was && was.ws) was.ws.close();
  devices.clear();
  map.clear();
  $("devices").replaceChildren();
  $("to").replaceChildren();
  $("sent").replaceChildren();
  $("count").textContent = "0";
  $("none").hidden = false;
  say("disconnected", "Not connected");
}

// ---- Positions

// Anybody may send to the topic: what is not a position is ignored.
function position(body) {
  let fields;
  try {
    fields = JSON.parse(body);
  } catch {
    return null;
  }
  const { deviceID: id, lat: latitude, lng: longitude, ts } = fields || {};
  const time = Date.parse(ts);
  const isPlace = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 && [latitude, longitude].every(Number.isFinite);
  return /^[\w-]{1,64}$/.test(id) && isPlace && Number.isFinite(time) ? { id, latitude, longitude, time } : null;
}

function received(body) {
  const found = position(body);
  if (!found) return;
  let device = devices.get(found.id);
  if (!device) {
    device = { colour: COLOURS[devices.size % COLOURS.length] };
    devices.set(found.id, device);
    addRow(found.id, device);
  }
  Object.assign(device, found);
  map.show(device);
  showRow(device);
}

function addRow(id, device) {
  const part = (name, text) => {
    const span = document.createElement("span");
    span.className = name;
    span.textContent = text || "";
    return span;
  };
  const row = document.createElement("button");
  device.row = { place: part("place"), age: part("age") };
  const dot = part("dot");
  dot.style.background = device.colour;
  row.append(dot, part("name", id), device.row.age, device.row.place);
  row.onclick = () => {
    map.point(id);
    $("to").value = id;
  };
  const item = document.createElement("li");
  item.dataset.device = id;
  item.append(row);
  $("devices").append(item);
  $("to").append(new Option("Device " + id, id));
  $("count").textContent = devices.size;
  $("none").hidden = true;
}

function showRow(device) {
  const seconds = Math.max(0, Math.round((Date.now() - device.time) / 1000));
  device.row.place.textContent = device.latitude.toFixed(5) + "°, " + device.longitude.toFixed(5) + "°";
  device.row.age.textContent = seconds < 2 ? "now" : seconds < 120 ? seconds + " s ago" : Math.round(seconds / 60) + " min ago";
}

// ---- Texts

function sendText() {
  const id = $("to").value, body = $("body").value, receipt = "text-" + ++texts;
  client.send("/queue/device." + id + ".text",
    { "content-type": "text/plain;charset=utf-8", persistent: "true", receipt }, body);
  const item = document.createElement("li");
  item.id = receipt;
  item.textContent = id + ": " + body;
  $("sent").prepend(item);
  $("body").value = "";
}

function confirmed(receipt) {
  const item = document.getElementById(receipt);
  if (item) item.className = "confirmed";
}

// ---- The page

$("url").value = new URLSearchParams(location.search).get("url") || $("url").value;
$("connection").onsubmit = event => { event.preventDefault(); connect(); };
$("disconnect").onclick = disconnect;
$("text").onsubmit = event => { event.preventDefault(); if (client) sendText(); };
setInterval(() => { for (const device of devices.values()) showRow(device); }, 1000);
say("disconnected", "Not connected");
