import type { Status } from '../../api/contract'

/** The colour and dash pattern of each status. */
export const lineStyles: { readonly [status in Status]: { readonly color: string; readonly dash: readonly number[] } } =
  {
    Pending: { color: '--info', dash: [2, 3] },
    Completed: { color: '--good', dash: [] },
    ManualControl: { color: '--check', dash: [8, 3] },
    Cancelled: { color: '--off', dash: [5, 4] },
    Failed: { color: '--bad', dash: [9, 3, 2, 3] },
  }

export function LineSample({ status }: { status: Status }) {
  return (
    <svg className="OverviewPage-line" viewBox="0 0 28 12" aria-hidden="true">
      <line
        x1="0"
        x2="28"
        y1="6"
        y2="6"
        className={`OverviewPage-line--${status}`}
        strokeDasharray={lineStyles[status].dash.join(' ')}
      />
    </svg>
  )
}
