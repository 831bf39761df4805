// The map: an outline of the world, a grid of degrees, and a marker with its trail for each device. Nothing comes from
// anywhere but the server of this page; there are no tiles.
"use strict";

class DeviceMap {
  constructor(element) {
    this.map = L.map(element, { worldCopyJump: true, minZoom: 1, maxZoom: 19 }).setView([25, 10], 2);
    this.map.attributionControl.setPrefix("Leaflet");
    this.outline = L.layerGroup().addTo(this.map);
    this.grid = L.layerGroup().addTo(this.map);
    this.markers = new Map();
    this.follows = true; // until somebody moves the map
    L.control.scale({ imperial: false }).addTo(this.map);
    this.addFitButton();
    this.map.on("moveend", () => this.drawGrid());
    this.map.on("dragstart", () => { this.follows = false; });
    element.addEventListener("wheel", () => { this.follows = false; }, { passive: true });
    this.drawGrid();
    this.loadOutline();
  }

  addFitButton() {
    const control = L.control({ position: "topright" });
    control.onAdd = () => {
      const button = L.DomUtil.create("button", "fit leaflet-bar");
      button.textContent = "Show all devices";
      L.DomEvent.disableClickPropagation(button);
      button.onclick = () => { this.follows = true; this.fit(); };
      return button;
    };
    control.addTo(this.map);
  }

  // Pairs of longitude and latitude, an empty line between two coasts: the format of gnuplot's world.dat. Without the file
  // there is only the grid.
  async loadOutline() {
    const answer = await fetch("world.dat").catch(() => null);
    if (!answer || !answer.ok) return;
    const coasts = (await answer.text()).split(/\n\s*\n/).map(coast => coast.trim().split("\n")
      .map(line => line.trim().split(/\s+/).map(Number))
      .filter(pair => pair.length === 2 && pair.every(Number.isFinite))
      .map(([longitude, latitude]) => [latitude, longitude]));
    for (const coast of coasts.filter(points => points.length > 1))
      L.polygon(coast, { weight: 1.2, color: "#7b93ab", fillColor: "#f7f5ee", fillOpacity: 1, interactive: false,
                         className: "coast" }).addTo(this.outline);
    this.outline.eachLayer(coast => coast.bringToBack());
  }

  // Lines of latitude and longitude, as many as the screen has room for.
  drawGrid() {
    this.grid.clearLayers();
    const bounds = this.map.getBounds(), pixels = this.map.getSize().x / (bounds.getEast() - bounds.getWest());
    const step = [45, 30, 10, 5, 2, 1].concat([1, 2, 3, 4].flatMap(places => [5, 2, 1].map(n => n / 10 ** places)))
      .filter(degrees => degrees * pixels >= 90).pop() || 45;
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const line = points => L.polyline(points, { weight: 1, color: "#5b86ae", opacity: .35, interactive: false }).addTo(this.grid);
    const label = (place, text, anchor) => L.marker(place, { interactive: false, keyboard: false,
      icon: L.divIcon({ className: "degrees", html: text, iconAnchor: anchor }) }).addTo(this.grid);
    const name = (degrees, signs) => Math.abs(degrees).toFixed(digits) + "°" +
      (degrees < 0 ? " " + signs[1] : degrees > 0 ? " " + signs[0] : "");
    const south = Math.max(-85, bounds.getSouth()), north = Math.min(85, bounds.getNorth());
    for (let n = Math.ceil(bounds.getWest() / step); n * step <= bounds.getEast(); n++) {
      line([[south, n * step], [north, n * step]]);
      const shown = ((n * step + 180) % 360 + 360) % 360 - 180;
      label([south, n * step], name(shown, "EW"), [-4, 18]);
    }
    for (let n = Math.ceil(south / step); n * step <= north; n++) {
      line([[n * step, bounds.getWest()], [n * step, bounds.getEast()]]);
      label([n * step, bounds.getEast()], name(n * step, "NS"), [66, 16]);
    }
  }

  // Moves the marker of a device, or makes one.
  show(device) {
    const place = [device.latitude, device.longitude];
    let entry = this.markers.get(device.id);
    if (!entry) {
      const pin = document.createElement("div");
      pin.className = "pin";
      pin.style.background = device.colour;
      pin.dataset.device = device.id;
      const bubble = document.createElement("span");
      bubble.textContent = "Device " + device.id; // as text: it is what somebody sent
      entry = {
        pin,
        trail: L.polyline([place], { weight: 3, color: device.colour, opacity: .55, interactive: false }).addTo(this.map),
        marker: L.marker(place, { title: "Device " + device.id, icon: L.divIcon({ className: "", html: pin,
          iconSize: [22, 22] }) }).bindPopup(bubble).addTo(this.map),
      };
      this.markers.set(device.id, entry);
      if (this.follows) this.fit();
    } else {
      entry.marker.setLatLng(place);
      entry.trail.setLatLngs([...entry.trail.getLatLngs().slice(-200), place]);
      if (this.follows && !this.map.getBounds().contains(place)) this.fit();
    }
    entry.pin.dataset.lat = device.latitude;
    entry.pin.dataset.lng = device.longitude;
  }

  fit() {
    const places = [...this.markers.values()].map(entry => entry.trail.getBounds());
    if (places.length > 0)
      this.map.fitBounds(places.reduce((all, bounds) => all.extend(bounds), L.latLngBounds([])).pad(.4), { maxZoom: 15, animate: false });
  }

  point(id) {
    const entry = this.markers.get(id);
    this.map.panTo(entry.marker.getLatLng());
    entry.marker.openPopup();
  }

  clear() {
    for (const { marker, trail } of this.markers.values()) {
      marker.remove();
      trail.remove();
    }
    this.markers.clear();
    this.follows = true;
  }
}
