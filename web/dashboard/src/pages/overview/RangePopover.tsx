import type { ComponentProps, RefObject } from 'react'
import { Dialog, Popover } from 'react-aria-components'
import { useText } from '../../app/texts'
import { DateRange } from '../../components/DateRange'
import '../../components/Select.css'

interface RangePopoverProps extends ComponentProps<typeof DateRange> {
  readonly button: RefObject<HTMLButtonElement | null>
  readonly close: () => void
}

export function RangePopover({ button, close, ...range }: RangePopoverProps) {
  const text = useText()
  return (
    <Popover className="Popover" triggerRef={button} isOpen onOpenChange={close}>
      <Dialog className="OverviewPage-range" aria-label={text('common.dateRange')}>
        <DateRange {...range} />
      </Dialog>
    </Popover>
  )
}
