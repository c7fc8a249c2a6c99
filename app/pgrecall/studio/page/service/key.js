/** The key of this tab. It stays in the tab's session storage, and never in an address. */

const PLACE = "pgrecall.key";
const IN_ADDRESS = /^#key=([\w-]+)/;

export function key() {
  return sessionStorage.getItem(PLACE);
}

export function keep(value) {
  sessionStorage.setItem(PLACE, value);
}

/** `pgrecall studio` opens the page with the key in the address: out of sight with it at once. */
export function takeFromAddress() {
  const found = IN_ADDRESS.exec(location.hash);
  if (!found) return;
  keep(found[1]);
  history.replaceState(null, "", location.pathname);
}
