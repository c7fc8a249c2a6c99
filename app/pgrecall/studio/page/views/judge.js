export function JudgeView() { return null; }
