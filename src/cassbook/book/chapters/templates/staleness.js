// The same trials as cassbook.staleness.explorer, from the same random numbers.
function neededMs({ n, r, w, write_ms, other_ms, far, far_ms }, trials) {
  let state = 0;
  const chance = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const away = (replica) => (replica >= n - far ? far_ms : 0);
  const legs = [write_ms, other_ms, other_ms, other_ms];
  const needed = new Float64Array(trials);
  for (let trial = 0; trial < trials; trial++) {
    const [write, acknowledged, read, answer] = legs.map((mean) =>
      Array.from({ length: n }, (_, replica) => -mean * Math.log(1 - chance()) + away(replica)));
    const committed = write.map((ms, i) => ms + acknowledged[i]).sort((a, b) => a - b)[w - 1];
    const first = [...write.keys()].sort((a, b) => read[a] + answer[a] - read[b] - answer[b]).slice(0, r);
    needed[trial] = Math.max(0, Math.min(...first.map((i) => write[i] - read[i])) - committed);
  }
  return needed.sort();
}
