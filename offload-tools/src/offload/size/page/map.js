// Draws the map and the table, and handles the user's input.

// -------------------------------------------------------------------------------------------------------- layout

// Fields with fewer pixels than this are drawn together with their neighbours.
const SMALLEST = 14;
let fields = [];

const squarify = (kids, x, y, w, h, total, place) => {
  let from = 0;
  while (from < kids.length && total > 0) {
    const area = w * h, side = Math.min(w, h);
    const scale = area / total;
    if (kids[from].bytes * scale < SMALLEST || side < 1) {
      place(null, x, y, w, h, kids.slice(from));
      return;
    }
    // Extend the row with fields as long as that makes its fields less oblong.
    let sum = 0, to = from, worst = Infinity;
    while (to < kids.length) {
      const next = sum + kids[to].bytes;
      const thick = next * scale / side;
      const first = kids[from].bytes * scale / thick, last = kids[to].bytes * scale / thick;
      const ratio = Math.max(first / thick, thick / first, last > 0 ? thick / last : Infinity);
      if (ratio > worst) break;
      [worst, sum, to] = [ratio, next, to + 1];
    }
    const thick = sum * scale / side;
    let along = 0;
    for (; from < to; from++) {
      const long = kids[from].bytes * scale / thick;
      if (w >= h) place(kids[from], x, y + along, thick, long);
      else place(kids[from], x + along, y, long, thick);
      along += long;
    }
    if (w >= h) { x += thick; w -= thick; } else { y += thick; h -= thick; }
    total -= sum;
  }
};

const HEAD = 19;
const layout = (at, x, y, w, h, depth) => {
  const field = { at, x, y, w, h, depth, head: 0, open: false };
  if (depth >= 0) fields.push(field);
  if (!at.kids.length || w < 12 || h < 12) return;
  field.open = true;
  field.head = depth >= 0 && h > 44 && w > 46 ? HEAD : 0;
  const edge = depth < 0 ? 0 : depth === 0 ? 2 : 1;
  squarify(at.kids, x + edge, y + edge + field.head, w - 2 * edge, h - 2 * edge - field.head, at.bytes,
    (kid, x, y, w, h, kids) => {
      if (kid) layout(kid, x, y, w, h, depth + 1);
      else fields.push({ at, x, y, w, h, depth: depth + 1, head: 0, open: false, kids });
    });
};

// ------------------------------------------------------------------------------------------------------- drawing

let root = build('target'), here = root, chosen = null, hovered = null, words = '', matches = [];

// The part of a name that distinguishes a field from its neighbours. For kernels that share a name,
// that is the rest of the text.
const label = at => {
  if (at.kind !== 'kernel') return at.name;
  if (at.parent.kind !== 'family') return brief(at.name);
  const name = at.parent.name.replace('<…>', '');
  return at.name.slice(at.name.indexOf(name) + name.length);
};
const fit = (text, room) => {
  if (draw.measureText(text).width <= room) return text;
  let low = 0, high = Math.min(text.length, Math.ceil(room / 2));
  // Keep the end of most names, too.
  const cut = count => /^[.(]|<…>$/.test(text) ? text.slice(0, count) + '…' : text.slice(0, Math.ceil(count / 2)) + '…' + (count > 1 ? text.slice(text.length - (count >> 1)) : '');
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (draw.measureText(cut(middle)).width <= room) low = middle; else high = middle - 1;
  }
  return low < 3 ? '' : cut(low);
};

const paint = () => {
  const style = getComputedStyle(document.documentElement);
  const [back, text, faint, accent] = ['--back', '--text', '--faint', '--accent'].map(name => style.getPropertyValue(name));
  const scale = devicePixelRatio || 1, w = map.clientWidth, h = map.clientHeight;
  if (map.width !== Math.round(w * scale) || map.height !== Math.round(h * scale)) {
    map.width = Math.round(w * scale);
    map.height = Math.round(h * scale);
  }
  draw.setTransform(scale, 0, 0, scale, 0, 0);
  draw.fillStyle = back;
  draw.fillRect(0, 0, w, h);
  draw.textBaseline = 'middle';
  const font = getComputedStyle(document.body).fontFamily;
  for (const field of fields) {
    const { at, x, y, w, h, kids } = field;
    const lit = !words || (kids ? kids.some(kid => kid.lit) : at.lit);
    draw.globalAlpha = lit ? 1 : 0.22;
    const gap = w > 4 && h > 4 ? 1 : 0;
    draw.fillStyle = tone(kids ? kids[0] : at, field.open);
    draw.fillRect(x, y, w - gap, h - gap);
    if (kids) {
      // Draw many small fields as stripes.
      draw.save();
      draw.beginPath();
      draw.rect(x, y, w - gap, h - gap);
      draw.clip();
      draw.strokeStyle = back;
      draw.globalAlpha *= 0.5;
      draw.beginPath();
      for (let at = -h; at < w; at += 5) { draw.moveTo(x + at, y + h); draw.lineTo(x + at + h, y); }
      draw.stroke();
      draw.restore();
    }
    const room = w - 10;
    if (kids || room < 24 || (field.open ? !field.head : h < 15)) continue;
    draw.font = (field.open ? '600 ' : '') + '12px ' + font;
    const name = fit(label(at), room);
    draw.fillStyle = text;
    draw.fillText(name, x + 5, y + (field.open ? HEAD / 2 + 2 : Math.min(h / 2, 10)));
    draw.globalAlpha *= 0.7;
    if (field.open) {
      const used = draw.measureText(name).width;
      draw.font = '12px ' + font;
      const bytes = size(at.bytes), width = draw.measureText(bytes).width;
      if (used + width + 12 < room) draw.fillText(bytes, x + w - 6 - width, y + HEAD / 2 + 2);
    } else if (name && h > 30 && draw.measureText(size(at.bytes)).width <= room) {
      draw.fillText(size(at.bytes), x + 5, y + 25);
    }
  }
  draw.globalAlpha = 1;
  const outline = (field, colour, width) => {
    if (!field) return;
    draw.strokeStyle = colour;
    draw.lineWidth = width;
    draw.strokeRect(field.x + width / 2, field.y + width / 2, Math.max(field.w - 1 - width, 1), Math.max(field.h - 1 - width, 1));
    draw.lineWidth = 1;
  };
  outline(hovered, text, 1.5);
  outline(chosen && fields.find(field => field.at === chosen && !field.kids), accent, 3);
  if (!fields.length) {
    draw.fillStyle = faint;
    draw.font = '14px ' + font;
    draw.fillText('This part contains no bytes.', 12, 24);
  }
};

let planned = false;
const repaint = () => {
  if (planned) return;
  planned = true;
  requestAnimationFrame(() => { planned = false; paint(); });
};
const arrange = () => {
  fields = [];
  hovered = null;
  layout(here, 0, 0, map.clientWidth, map.clientHeight, -1);
  repaint();
};

// --------------------------------------------------------------------------------------------------------- words

const make = (tag, text, className) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};
const trail = at => {
  const all = [];
  for (; at; at = at.parent) all.unshift(at);
  return all;
};
const isCompressed = at => data.is_compressed && at.size > at.bytes;
const unpackedText = at => (isCompressed(at) ? `, ${size(at.size)} once decompressed` : '');
const describe = at => `${at.name}: ${size(at.bytes)} (${exact(at.bytes)}), ${share(at.bytes)} of the file${unpackedText(at)}`;

const crumbs = () => {
  const all = trail(here);
  $('path').replaceChildren(...all.map((at, index) => {
    const name = index ? at.name : 'whole file';
    if (at === here) {
      const last = make('b', name);
      last.setAttribute('aria-current', 'location');
      return last;
    }
    const button = make('button', name);
    button.type = 'button';
    button.addEventListener('click', () => go(at));
    return button;
  }));
};

const ROWS = 100;
let shown = ROWS;
const table = () => {
  const all = words ? matches : here.kids;
  const largest = all.length ? all[0].bytes : 0;
  const within = here === root ? 'the file' : here.name;
  $('caption').textContent = words ? `Parts with “${words}” in the name` : here.kids.length ? `Contents of ${within}` : describe(here);
  $('rows').replaceChildren(...all.slice(0, shown).map(at => {
    const row = make('tr'), name = make('td'), bytes = make('td', undefined, 'number');
    if (at.kids.length) {
      const button = make('button', at.name);
      button.type = 'button';
      button.addEventListener('click', () => go(at));
      name.append(button);
    } else name.append(at.name);
    if (words && at.parent && at.parent !== root) name.append(make('small', trail(at.parent).slice(1).map(it => it.name).join(' › ')));
    const bar = make('span', undefined, 'bar'), fill = make('i');
    fill.style.width = 100 * at.bytes / Math.max(largest, 1) + '%';
    fill.style.background = `hsl(${at.hue ?? 215} ${at.hue === null ? 8 : 50}% 55%)`;
    bar.append(fill);
    bytes.append(bar, make('span', size(at.bytes), 'size'));
    row.append(name, make('td', KINDS[at.kind]), bytes, make('td', at.bytes.toLocaleString('en'), 'number'),
      make('td', share(at.bytes), 'number'), make('td', isCompressed(at) ? size(at.size) : '', 'number unpacked'));
    return row;
  }));
  $('more').hidden = all.length <= shown;
  $('more').textContent = `Show more of the ${(all.length - shown).toLocaleString('en')} remaining rows`;
};

const show = at => { $('status').textContent = at ? describe(at) : ''; };

const go = at => {
  if (!at.kids.length && at.parent) at = at.parent;
  here = at;
  chosen = null;
  shown = ROWS;
  tip.hidden = true;
  show(here);
  map.setAttribute('aria-label', `Map of ${describe(here)}. The table below lists the same parts.`);
  crumbs();
  table();
  arrange();
};

// -------------------------------------------------------------------------------------------------------- search

const search = () => {
  words = $('search').value.trim();
  const needle = words.toLowerCase();
  matches = [];
  shown = ROWS;
  descend(root, at => { at.lit = false; });
  if (words) {
    descend(root, at => {
      if (at === root || !at.name.toLowerCase().includes(needle)) return true;
      matches.push(at);
      descend(at, it => { it.lit = true; });
      for (let up = at.parent; up && !up.lit; up = up.parent) up.lit = true;
      return false;
    });
    matches.sort((a, b) => b.bytes - a.bytes);
    const bytes = matches.reduce((sum, at) => sum + at.bytes, 0);
    $('found').textContent = matches.length
      ? `${matches.length.toLocaleString('en')} found, ${size(bytes)}, ${share(bytes)}` : 'nothing found';
  } else $('found').textContent = '';
  table();
  repaint();
};
let waiting = 0;
$('search').addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(search, 120); });

// -------------------------------------------------------------------------------------------------------- events

const under = event => {
  const box = map.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  for (let i = fields.length - 1; i >= 0; i--) {
    const field = fields[i];
    if (x >= field.x && y >= field.y && x < field.x + field.w && y < field.y + field.h) return field;
  }
  return null;
};

map.addEventListener('mousemove', event => {
  const field = under(event);
  if (field !== hovered) {
    hovered = field;
    repaint();
    tip.replaceChildren();
    if (field) {
      const { at, kids } = field;
      const bytes = kids ? kids.reduce((sum, kid) => sum + kid.bytes, 0) : at.bytes;
      const name = kids ? `${kids.length.toLocaleString('en')} small parts` : at.kind === 'kernel' ? brief(at.name) : at.name;
      tip.append(make('b', name));
      if (!kids && name !== at.name) tip.append(make('span', at.name));
      tip.append(make('span', `${size(bytes)} in the file (${exact(bytes)}), ${share(bytes)}`));
      if (!kids && isCompressed(at)) tip.append(make('span', `${size(at.size)} once decompressed (${exact(at.size)})`));
      const path = trail(kids ? at : at.parent).slice(1).map(it => it.name).join(' › ');
      tip.append(make('span', [kids ? '' : KINDS[at.kind], path && `in ${path}`].filter(Boolean).join(' ')));
      if (!kids) show(at);
    }
  }
  tip.hidden = !field;
  if (field) {
    const { offsetWidth: w, offsetHeight: h } = tip;
    const x = event.clientX + 16 + w > innerWidth ? event.clientX - w - 12 : event.clientX + 16;
    const y = event.clientY + 18 + h > innerHeight ? event.clientY - h - 12 : event.clientY + 18;
    tip.style.left = Math.max(x, 4) + 'px';
    tip.style.top = Math.max(y, 4) + 'px';
  }
});
map.addEventListener('mouseleave', () => { hovered = null; tip.hidden = true; show(chosen ?? here); repaint(); });
map.addEventListener('click', event => {
  const field = under(event);
  if (!field) return;
  let at = field.at;
  if (!at.kids.length && at.parent) at = at.parent;
  if (at !== here) go(at);
});

const out = () => { if (here.parent) { const from = here; go(here.parent); chosen = from; show(from); repaint(); } };
map.addEventListener('keydown', event => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (step && here.kids.length) {
    const at = here.kids.indexOf(chosen);
    const next = at < 0 ? (step > 0 ? 0 : here.kids.length - 1) : (at + step + here.kids.length) % here.kids.length;
    chosen = here.kids[next];
    show(chosen);
    repaint();
  } else if (event.key === 'Enter' && chosen && chosen.kids.length) {
    go(chosen);
    chosen = here.kids[0];
    repaint();
  } else if (event.key === 'Backspace') out();
  else return;
  event.preventDefault();
});
document.addEventListener('keydown', event => {
  const typing = event.target === $('search');
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    $('search').focus();
    event.preventDefault();
  } else if (event.key === 'Escape') {
    if (typing && words) { $('search').value = ''; search(); } else out();
  }
});

$('by').addEventListener('change', event => {
  root = build(event.target.value);
  here = root;
  search();
  go(root);
});
$('more').addEventListener('click', () => { shown += 5 * ROWS; table(); });

const legend = () => {
  const vendors = [...new Set(data.images.map(image => image.vendor)), 'rest'];
  $('legend').replaceChildren(...vendors.map(vendor => {
    const item = make('li'), box = make('i');
    box.style.background = swatch(vendor);
    item.append(box, VENDORS[vendor][0]);
    return item;
  }));
};

dark.addEventListener('change', () => { legend(); repaint(); });
addEventListener('resize', arrange);

const device = data.images.reduce((sum, image) => sum + image.bytes, 0);
const unpacked = data.images.reduce((sum, image) => sum + image.size, 0);
const targets = new Set(data.images.map(image => image.target)).size;
const count = (number, what) => `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
const kernels = data.images.reduce((sum, image) => sum + (image.kernels ?? []).length / 3, 0);
$('file').textContent = data.file;
$('summary').textContent = `${size(data.size)}, of which ${size(device)} in ${count(data.images.length, 'image')} for ` +
  `${count(targets, 'target')} with ${count(kernels, 'kernel')}` + (data.is_compressed ? `, ${size(unpacked)} once decompressed` : '');
document.body.classList.toggle('plain', !data.is_compressed);
legend();
go(root);
