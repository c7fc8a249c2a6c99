export function UpkeepView() { return null; }
