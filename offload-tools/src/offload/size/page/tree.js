// Builds a tree of the file's parts, with names and colours.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const map = $('map'), tip = $('tip'), draw = map.getContext('2d');

// ---------------------------------------------------------------------------------------------------------- text

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const size = bytes => {
  if (bytes < 1024) return bytes + ' B';
  let value = bytes / 1024, unit = 0;
  while (value >= 1023.95 && unit + 1 < UNITS.length) { value /= 1024; unit++; }
  return value.toFixed(1) + ' ' + UNITS[unit];
};
const exact = bytes => bytes.toLocaleString('en') + ' bytes';
const share = bytes => (100 * bytes / Math.max(data.size, 1)).toFixed(1) + ' %';
const KINDS = {
  file: 'file', target: 'target', module: 'module', image: 'image', kernels: '', family: 'kernels', kernel: 'kernel',
  section: 'section', others: '', other: '', containers: '', rest: '',
};

// Returns the function's own name in a mangled C++ name: `RadixTopK<…>` for
// `_ZN4rocm9RadixTopKIf…`.
const brief = name => {
  const start = /^_ZL?(N[rVK]*)?(St)?/.exec(name);
  if (!start) return name;
  let at = start[0].length, last = '';
  for (let found; (found = /^L?(\d+)/.exec(name.slice(at, at + 8))); at += Number(found[1])) {
    at += found[0].length;
    last = name.slice(at, at + Number(found[1]));
  }
  return last ? last + (name[at] === 'I' ? '<…>' : '') : name;
};

// ---------------------------------------------------------------------------------------------------------- tree

const node = (kind, name, vendor, parent) =>
  ({ kind, name, vendor, parent, bytes: 0, size: 0, kids: [], index: null, hue: null, lit: true });

const child = (parent, kind, name, vendor) => {
  parent.index ??= new Map();
  const key = kind + ' ' + name;
  let found = parent.index.get(key);
  if (!found) {
    found = node(kind, name, vendor, parent);
    parent.index.set(key, found);
    parent.kids.push(found);
  }
  return found;
};

const add = (at, bytes, unpacked) => {
  for (; at; at = at.parent) { at.bytes += bytes; at.size += unpacked; }
};

// Groups the kernels that are instances of one template, unless there are only a few kernels.
const FEW = 12;
const families = at => {
  const names = new Map();
  for (const kid of at.kids) {
    const key = kid.kind === 'kernel' ? brief(kid.name) : kid;
    if (names.has(key)) names.get(key).push(kid);
    else names.set(key, [kid]);
  }
  if (names.size < 2) return;
  at.kids = [...names].map(([name, kids]) => {
    if (kids.length < 2) return kids[0];
    const family = node('family', name, null, at);
    family.kids = kids;
    for (const kid of kids) {
      kid.parent = family;
      family.bytes += kid.bytes;
      family.size += kid.size;
    }
    return family;
  });
};

// Sorts rows by size, largest first. Omits a level whose only row adds no information.
const finish = at => {
  at.index = null;
  if (at.kids.length === 1 && at.kids[0].kind === 'image') {
    at.kids = at.kids[0].kids;
    at.kids.forEach(kid => { kid.parent = at; });
  }
  if (at.kids.length === 1 && at.kids[0].kind === 'other') at.kids = [];
  if (at.kids.length > FEW && at.kind !== 'family') families(at);
  at.kids = at.kids.filter(kid => kid.bytes > 0 || kid.size > 0);
  at.kids.sort((a, b) => b.bytes - a.bytes || b.size - a.size || (a.name < b.name ? -1 : 1));
  at.kids.forEach(finish);
};

const triples = (list, each) => {
  for (let i = 0; i < list.length; i += 3) each(data.names[list[i]], list[i + 1], list[i + 2]);
};

const build = by => {
  const root = node('file', data.file, null, null);
  const modules = data.images.some(image => image.module !== null);
  for (const image of data.images) {
    let at = root;
    const target = parent => child(parent, 'target', image.target, image.vendor);
    const module = parent => child(parent, 'module', image.module ?? data.labels.no_module, null);
    if (by === 'target') at = modules ? module(target(at)) : target(at);
    if (by === 'module') at = target(module(at));
    if (by !== 'kernel') at = child(at, 'image', image.image, null);
    // In a tree by kernel, the target is below each kernel.
    const leaf = (from, kind) => (name, bytes, unpacked) => {
      const row = child(from, kind, name, null);
      add(by === 'kernel' ? target(row) : row, bytes, unpacked);
    };
    if (image.kernels) triples(image.kernels, leaf(by === 'kernel' ? root : child(at, 'kernels', data.labels.kernels, null), 'kernel'));
    const others = by === 'kernel' ? child(root, 'others', data.labels.not_kernels, null) : at;
    triples(image.sections, leaf(others, 'section'));
    leaf(others, 'other')(...image.other);
  }
  add(child(root, 'containers', data.labels.containers, 'rest'), data.containers, data.containers);
  const rest = child(root, 'rest', data.labels.rest, 'rest');
  let left = data.rest;
  triples(data.host, (name, bytes, unpacked) => {
    left -= bytes;
    add(child(rest, 'section', name, null), bytes, unpacked);
  });
  add(child(rest, 'other', data.labels.rest_other, null), left, left);
  finish(root);
  colour(root);
  return root;
};

const descend = (at, enter) => {
  const stack = [at];
  while (stack.length) {
    const next = stack.pop();
    if (enter(next) !== false) stack.push(...next.kids);
  }
};

// ------------------------------------------------------------------------------------------------------- colours

const VENDORS = {
  amd: ['AMD', 8], nvidia: ['NVIDIA', 100], intel: ['Intel', 208], cpu: ['CPU', 270], other: ['other', 42],
  rest: ['no device code', null],
};
const dark = matchMedia('(prefers-color-scheme: dark)');

// A vendor's targets have slightly different hues, in a fixed order.
const hues = new Map();
const used = {};
for (const { target, vendor } of data.images) {
  const key = vendor + ' ' + target;
  if (hues.has(key)) continue;
  used[vendor] = (used[vendor] ?? -1) + 1;
  hues.set(key, VENDORS[vendor][1] + [0, 16, -14, 28, 8, -7, 22][used[vendor] % 7]);
}

const hueOf = at => (at.vendor === 'rest' ? null : hues.get(at.vendor + ' ' + at.name));

// Rows below a target have the target's colour. Rows above several targets have the
// colour of the largest.
const colour = at => {
  let largest = at;
  while (!largest.vendor && largest.kids.length) [largest] = largest.kids;
  at.hue = at.vendor ? hueOf(at) : at.parent && at.parent.fixed ? at.parent.hue : largest.vendor ? hueOf(largest) : null;
  at.fixed = Boolean(at.vendor || (at.parent && at.parent.fixed));
  at.kids.forEach(colour);
};

// The saturation and lightness of fields in light mode, then in dark mode.
const TONES = { kernel: [58, 70, 44, 37], group: [45, 89, 26, 20], whole: [50, 75, 38, 33], plain: [24, 82, 16, 29] };
const tone = (at, hasKids) => {
  const name = hasKids ? 'group' : at.kind === 'kernel' ? 'kernel' : at.kind === 'target' || at.kind === 'module' ? 'whole' : 'plain';
  const [s, l, darkS, darkL] = TONES[name];
  return `hsl(${at.hue ?? 215} ${at.hue === null ? 8 : dark.matches ? darkS : s}% ${dark.matches ? darkL : l}%)`;
};
const swatch = vendor => {
  const hue = VENDORS[vendor][1];
  return `hsl(${hue ?? 215} ${hue === null ? 8 : dark.matches ? 44 : 58}% ${dark.matches ? 45 : 66}%)`;
};
