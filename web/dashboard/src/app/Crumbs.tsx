import { Link, useLocation } from '@tanstack/react-router'
import { useMerchant, useMerchantName } from './merchant-names'
import { destinationOf } from './navigation'
import { usePageTitle } from './page-title'
import { useText } from './texts'

/** Starts with the merchant, so that no one reads one merchant's numbers as those of all. */
export function Crumbs() {
  const text = useText()
  const path = useLocation({ select: ({ pathname }) => pathname })
  const merchantId = useMerchant()
  const merchantName = useMerchantName()
  const title = usePageTitle()
  const destination = destinationOf(path)
  const { group } = destination ?? {}
  const groupName = group === undefined || group === 'start' ? undefined : text(`shell.group.${group}`)
  const isDetail = destination !== undefined && destination.to !== path
  return (
    <ol className="Crumbs" aria-label={text('shell.breadcrumb')}>
      <li>{merchantId === undefined ? text('common.allMerchants') : merchantName(merchantId)}</li>
      {groupName !== undefined && groupName !== text(destination!.label) && <li>{groupName}</li>}
      {isDetail && (
        <li>
          <Link to={destination.to}>{text(destination.label)}</Link>
        </li>
      )}
      <li aria-current="page" className="cut">
        {title}
      </li>
    </ol>
  )
}
