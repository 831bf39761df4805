"""The interface of paho-mqtt on libswiftmqtt: change the import, and keep the program.

    import swiftmqtt.paho.client as mqtt          # import paho.mqtt.client as mqtt
    import swiftmqtt.paho.publish as publish      # import paho.mqtt.publish as publish
    import swiftmqtt.paho.subscribe as subscribe  # import paho.mqtt.subscribe as subscribe

That of paho-mqtt 2.2, with both callback API versions. What differs is in python/README.md.
"""

from . import client as _client
from ._replace import replace_paho
from .client import *  # noqa: F403
from .errors import MQTTException

#: Which paho-mqtt this has the interface of: packages ask for it, to know what Client() wants.
__version__ = "2.2.0"

__all__ = ["MQTTException", "replace_paho"]
__all__ += _client.__all__
