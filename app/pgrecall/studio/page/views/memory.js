export function MemoryView() { return null; }
