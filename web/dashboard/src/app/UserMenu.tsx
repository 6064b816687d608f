import { ChevronsUpDown } from 'lucide-react'
import { Suspense, useRef, useState } from 'react'
import { Button } from '../components/Button'
import { Mark } from '../components/Mark'
import { useSession } from './current-session'
import { lazyPart } from './lazy-page'
import { useText } from './texts'

const UserMenuList = lazyPart(async () => (await import('./UserMenuList')).UserMenuList)

export function UserMenu() {
  const text = useText()
  const { user } = useSession()
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        ref={button}
        look="quiet"
        className="SideBar-user"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onPress={() => setOpen(true)}
      >
        <Mark name={user.name} person mine />
        <span className="SideBar-name">
          <span className="cut">{user.name}</span>
          <span className="small">{text(`common.role.${user.role}`)}</span>
        </span>
        <ChevronsUpDown />
      </Button>
      {isOpen && (
        <Suspense>
          <UserMenuList button={button} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
