export function BrowseView() { return null; }
